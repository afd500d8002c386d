// Small blocks are cut from slabs: one after another in memory, as a graph is walked, and with fewer and
// larger pages.
#pragma once

#include <cstddef>

namespace regard::detail {

/// The next `bytes` (a multiple of the alignment of blocks) of this thread's slab, or null.
void* carve(std::size_t bytes) noexcept;
/// Another slab for this thread: a rest that an ended thread left, or one from the heap. -> how many it asked
/// from the heap. Throws std::bad_alloc.
std::size_t new_slab();
/// What is left of the thread's slab is for the next thread.
void give_back_slab() noexcept;

}  // namespace regard::detail
