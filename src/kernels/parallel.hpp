// Large kernels on several threads. Work is cut into blocks by its size alone, never by the number of threads, and what
// is added up across blocks is added in their order: the results are the same bits for any number of threads.
#pragma once

#include <algorithm>

#include <regard/dtype.hpp>

namespace regard::kernels {

/// What a block holds, so that it takes one core some 20 µs or more; waking a thread takes about as long.
struct Work {
  Size per_block;
};
constexpr Work moved{32768};       ///< elements that are copied, added, compared
constexpr Work computed{8192};     ///< elements that go through exp or the like, or through several loops
constexpr Work multiplied{1 << 20};  ///< multiplications of a product of matrices

/// Calls task(context, block) for each block, see parallel_for.
void run_blocks(Size blocks, void (*task)(const void* context, Size block), const void* context);

/// f(block) once for every block from 0 on, on this thread and those of the pool, in any order; when all are done it
/// returns. One after the other on this thread alone: with one thread, inside of a block, and while the pool works for
/// another thread. Of the exceptions of several blocks the first block's is thrown.
template <class F>
void parallel_for(Size blocks, const F& f) {
  if (blocks == 1) return f(Size{0});
  run_blocks(
      blocks, [](const void* context, Size block) { (*static_cast<const F*>(context))(block); }, &f);
}

/// How many of n things, `each` of them as much work as so many elements, make one of several blocks; n if all
/// together are too few to be shared out.
Size block_size(Size n, Size each, Work work);

/// f(begin, end) for blocks of 0 ... n - 1.
template <class F>
void parallel_ranges(Size n, Size each, Work work, const F& f) {
  const Size size = block_size(n, each, work);
  if (size >= n) return f(Size{0}, n);
  parallel_for((n + size - 1) / size, [&](Size block) { f(block * size, std::min(n, (block + 1) * size)); });
}

/// While it lives, blocks are so many times smaller, on all threads: for tests, whose arrays are small.
class SmallerBlocks {
 public:
  explicit SmallerBlocks(Size times);
  ~SmallerBlocks();
  SmallerBlocks(const SmallerBlocks&) = delete;
  SmallerBlocks& operator=(const SmallerBlocks&) = delete;
};

}  // namespace regard::kernels
