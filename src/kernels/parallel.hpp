// Large kernels on several threads. Work is cut into blocks by its size alone, never by the number of
// threads, and what is added up across blocks is added in their order: the results are the same bits for any
// number of threads.
#pragma once

#include <algorithm>
#include <atomic>

#include <regard/dtype.hpp>

namespace regard::kernels {

/// What a block holds, so that it takes one core some 20 µs or more; waking a thread takes about as long.
struct Work {
  Size per_block;
};
constexpr Work moved{65536};         ///< elements that are copied, added, compared
constexpr Work computed{16384};      ///< elements that go through exp or the like, or through several loops
constexpr Work multiplied{1 << 20};  ///< multiplications of a product of matrices

/// What REGARD_THREADS says; null or "" for one per processor that the process may run on. ValueError for
/// what is no number from 1 to 1024.
int choose_threads(const char* wanted);

/// Calls task(context, block) for each block, see parallel_for.
void run_blocks(Size blocks, void (*task)(const void* context, Size block), const void* context);

/// f(block) once for every block from 0 on, on this thread and those of the pool, in any order; when all are
/// done it returns. One after the other on this thread alone: with one thread, inside of a block, and while
/// the pool works for another thread. Of the exceptions of several blocks the first block's is thrown.
template <class F>
void parallel_for(Size blocks, const F& f) {
  if (blocks == 1) return f(Size{0});
  run_blocks(
      blocks, [](const void* context, Size block) { (*static_cast<const F*>(context))(block); }, &f);
}

/// By how many powers of two blocks are smaller than they should be: more than none in tests alone.
extern std::atomic<int> halvings_of_blocks;

/// How many of n things, `each` of them as much work as so many elements, make one of several blocks; n if
/// all together are too few to be shared out.
inline Size block_size(Size n, Size each, Work work) {
  const Size block = work.per_block >> halvings_of_blocks.load(std::memory_order_relaxed);
  if (n < 2 || each < 1 || n <= 2 * block / each) return n;
  return std::max<Size>(1, block / each);
}

/// f(begin, end) for blocks of 0 ... n - 1.
template <class F>
void parallel_ranges(Size n, Size each, Work work, const F& f) {
  const Size size = block_size(n, each, work);
  if (size >= n) return f(Size{0}, n);
  parallel_for((n + size - 1) / size, [&](Size block) { f(block * size, std::min(n, (block + 1) * size)); });
}

}  // namespace regard::kernels
