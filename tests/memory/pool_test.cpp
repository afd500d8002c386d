// Blocks of a thread, of its slabs, and what passes from thread to thread.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "memory/pool.hpp"

namespace regard::detail {
namespace {

constexpr std::size_t small = 192, many = 20000;

std::vector<void*> allocated(std::size_t count, std::size_t bytes) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(allocate(bytes));
  return blocks;
}

void deallocate_all(const std::vector<void*>& blocks, std::size_t bytes) {
  for (void* block : blocks) deallocate(block, bytes);
}

template <class F>
void on_a_thread(const F& f) {
  std::thread(f).join();
}

TEST(Pool, BlocksAreAlignedAndDoNotOverlap) {
  for (const std::size_t bytes : {1, 64, 65, 1000, 1024, 1025, 5000, 300000}) {
    const std::vector<void*> blocks = allocated(50, bytes);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks[i]) % block_alignment, 0u) << bytes;
      std::memset(blocks[i], static_cast<int>(i + 1), bytes);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto* numbers = static_cast<const unsigned char*>(blocks[i]);
      EXPECT_EQ(numbers[0], i + 1) << bytes;
      EXPECT_EQ(numbers[bytes - 1], i + 1) << bytes;
    }
    deallocate_all(blocks, bytes);
  }
}

TEST(Pool, WhatWasFreedComesAgainWithoutTheHeap) {
  if (!pooling) GTEST_SKIP() << "with AddressSanitizer every block is the heap's";
  for (const std::size_t bytes : {std::size_t{1}, small, std::size_t{100'000}}) {
    deallocate_all(allocated(10, bytes), bytes);
    const std::size_t cached = pool_counts().cached_bytes, asked = pool_counts().heap_allocations;
    const std::vector<void*> again = allocated(10, bytes);
    EXPECT_EQ(pool_counts().cached_bytes, cached - 10 * block_bytes(bytes));
    EXPECT_EQ(pool_counts().heap_allocations, asked);
    deallocate_all(again, bytes);
    EXPECT_EQ(pool_counts().cached_bytes, cached);
  }
}

TEST(Pool, SmallBlocksAreCutFromFewSlabsOneBehindTheOther) {
  if (!pooling) GTEST_SKIP() << "with AddressSanitizer every block is the heap's";
  on_a_thread([] {
    const std::vector<void*> blocks = allocated(many, 1024 - 64);  // a size that nothing else here has
    EXPECT_LT(pool_counts().heap_allocations, 12u);
    std::size_t neighbours = 0;
    for (std::size_t i = 1; i < many; ++i)
      neighbours += static_cast<char*>(blocks[i]) - static_cast<char*>(blocks[i - 1]) == 1024 - 64;
    EXPECT_GT(neighbours, many - 12);
    deallocate_all(blocks, 1024 - 64);
  });
}

TEST(Pool, AThreadLeavesItsSmallBlocksToTheNext) {
  if (!pooling) GTEST_SKIP() << "with AddressSanitizer every block is the heap's";
  const auto use = [] { deallocate_all(allocated(many, small), small); };
  on_a_thread(use);
  on_a_thread([&] {
    use();
    EXPECT_EQ(pool_counts().heap_allocations, 0u);
  });
}

TEST(Pool, AThreadThatNeverAskedMayFree) {
  for (const std::size_t bytes : {small, std::size_t{100'000}}) {
    const std::vector<void*> blocks = allocated(100, bytes);
    on_a_thread([&] { deallocate_all(blocks, bytes); });
    on_a_thread([&] {
      const std::vector<void*> others = allocated(100, bytes);
      for (void* block : others) std::memset(block, 7, bytes);
      deallocate_all(others, bytes);
    });
  }
}

}  // namespace
}  // namespace regard::detail
