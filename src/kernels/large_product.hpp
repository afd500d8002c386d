// Products of large matrices in blocks that stay in the caches, for processors on which our tiles beat the
// BLAS.
#pragma once

#include "kernels/vector/table.hpp"

namespace regard::kernels {

/// Whether ours is the one to take for a product that is not small.
template <class T>
bool is_ours(const SmallProduct<T>& at);

/// One product, whatever at.count says. An element is the sum over p in stretches of a fixed length, each in
/// the order of p: its bits depend on its own row and column alone, and blocks are shared out among threads
/// as they come.
template <class T>
void large_product(const SmallProduct<T>& at);

}  // namespace regard::kernels
