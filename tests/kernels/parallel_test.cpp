// The pool of threads: blocks, exceptions, who may use it and when.
#include "kernels/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <regard/error.hpp>
#include <regard/threads.hpp>

#include "support/threads.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

using kernels::parallel_for;

TEST(Threads, AreAtLeastOne) {
  const WithThreads kept(threads());
  for (const int count : {1, 2, 7, 1024}) {
    set_threads(count);
    EXPECT_EQ(threads(), count);
  }
  EXPECT_THROWS_WITH(set_threads(0), ValueError, "set_threads: expected 1 to 1024, got 0");
  EXPECT_THROWS_WITH(set_threads(-3), ValueError, "set_threads: expected 1 to 1024, got -3");
  EXPECT_THROWS_WITH(set_threads(1025), ValueError, "set_threads: expected 1 to 1024, got 1025");
  EXPECT_EQ(threads(), 1024);
}

TEST(Threads, AreAsManyAsTheVariableSays) {
  EXPECT_GE(kernels::choose_threads(nullptr), 1);
  EXPECT_EQ(kernels::choose_threads(""), kernels::choose_threads(nullptr));
  EXPECT_EQ(kernels::choose_threads("1"), 1);
  EXPECT_EQ(kernels::choose_threads("1024"), 1024);
  for (const char* wrong : {"0", "-1", "1025", "two", "2x", "1.5", "99999999999999999999"})
    EXPECT_THROWS_WITH(kernels::choose_threads(wrong), ValueError,
                       std::string("REGARD_THREADS=") + wrong + ": expected a number from 1 to 1024");
}

TEST(Threads, RunEveryBlockOnce) {
  for (const int count : {1, 2, 3, 7})
    for (const Size blocks : {0, 1, 2, 3, 6, 7, 8, 100, 1000}) {
      const WithThreads with(count);
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(blocks));
      parallel_for(blocks, [&](Size block) { ++runs[static_cast<std::size_t>(block)]; });
      for (const std::atomic<int>& once : runs)
        EXPECT_EQ(once, 1) << count << " threads, " << blocks << " blocks";
    }
}

// Each block waits until all have begun: this ends only if as many threads are at it.
TEST(Threads, WorkAtTheSameTime) {
  for (const int count : {2, 3, 7}) {
    const WithThreads with(count);
    std::atomic<int> begun{0};
    parallel_for(count, [&](Size) {
      ++begun;
      while (begun < count) std::this_thread::yield();
    });
    EXPECT_EQ(begun, count);
  }
}

TEST(Threads, SleepAndWakeAgain) {
  const WithThreads with(3);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> begun{0};
    parallel_for(3, [&](Size) {
      ++begun;
      while (begun < 3) std::this_thread::yield();
    });
  }
}

TEST(Threads, OneThreadGoesFromTheFirstBlockToTheLast) {
  const WithThreads with(1);
  std::vector<Size> order;
  parallel_for(5, [&](Size block) { order.push_back(block); });
  EXPECT_EQ(order, (std::vector<Size>{0, 1, 2, 3, 4}));
}

TEST(Threads, ThrowWhatTheFirstFailingBlockThrew) {
  for (const int count : {1, 2, 3, 7}) {
    const WithThreads with(count);
    for (int repeat = 0; repeat < 20; ++repeat)
      EXPECT_THROWS_WITH(parallel_for(100,
                                      [](Size block) {
                                        if (block % 10 == 7)
                                          throw ValueError("block " + std::to_string(block));
                                      }),
                         ValueError, "block 7");
    std::atomic<int> runs{0};
    parallel_for(10, [&](Size) { ++runs; });
    EXPECT_EQ(runs, 10) << "after an exception";
  }
}

TEST(Threads, InsideABlockThereIsNoOtherThread) {
  const WithThreads with(3);
  std::atomic<int> runs{0}, strangers{0};
  parallel_for(6, [&](Size) {
    const std::thread::id own = std::this_thread::get_id();
    parallel_for(10, [&](Size) {
      ++runs;
      strangers += std::this_thread::get_id() != own;
    });
  });
  EXPECT_EQ(runs, 60);
  EXPECT_EQ(strangers, 0);
}

TEST(Threads, WhoComesSecondWorksAlone) {
  const WithThreads with(2);
  std::atomic<bool> taken{false}, done{false};
  std::thread first([&] {
    parallel_for(2, [&](Size) {
      taken = true;
      while (!done) std::this_thread::yield();
    });
  });
  while (!taken) std::this_thread::yield();
  std::set<std::thread::id> who;
  parallel_for(20, [&](Size) { who.insert(std::this_thread::get_id()); });
  done = true;
  first.join();
  EXPECT_EQ(who, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(Threads, OfTheProgramMayAllCompute) {
  const WithThreads with(2);
  std::vector<std::thread> users;
  std::atomic<Size> sum{0};
  for (int i = 0; i < 4; ++i)
    users.emplace_back([&] {
      for (int repeat = 0; repeat < 200; ++repeat) parallel_for(10, [&](Size block) { sum += block; });
    });
  for (std::thread& user : users) user.join();
  EXPECT_EQ(sum, 4 * 200 * 45);
}

TEST(Threads, MayChangeInNumberWhileOthersCompute) {
  const WithThreads with(2);
  std::atomic<bool> done{false};
  std::atomic<Size> runs{0};
  std::thread other([&] {
    for (int repeat = 0; repeat < 200; ++repeat) parallel_for(5, [&](Size) { ++runs; });
    done = true;
  });
  for (int i = 0; !done; ++i) {
    set_threads(1 + i % 4);
    parallel_for(3, [](Size) {});
  }
  other.join();
  EXPECT_EQ(runs, 1000);
}

// A child process has one thread, whatever its parent had.
TEST(Threads, OfAParentAreNotWaitedForInAChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow a fork of a program with threads";
#endif
  const WithThreads with(3);
  std::atomic<int> runs{0};
  parallel_for(10, [&](Size) { ++runs; });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int sum = 0;
    parallel_for(10, [&](Size block) { sum += static_cast<int>(block); });
    std::exit(sum == 45 ? 0 : 1);  // with all that is done at the end of a program
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Blocks, AreMadeBySizeAlone) {
  const kernels::Work work{100};
  EXPECT_EQ(kernels::block_size(0, 1, work), 0);
  EXPECT_EQ(kernels::block_size(200, 1, work), 200) << "not worth another thread";
  EXPECT_EQ(kernels::block_size(201, 1, work), 100);
  EXPECT_EQ(kernels::block_size(201, 10, work), 10);
  EXPECT_EQ(kernels::block_size(201, 1000, work), 1);
  EXPECT_EQ(kernels::block_size(1, 1000, work), 1);
  const SmallBlocks small(5);
  EXPECT_EQ(kernels::block_size(201, 1, work), 3);
}

TEST(Blocks, CoverARangeWithoutGaps) {
  for (const int count : {1, 3}) {
    const WithThreads with(count);
    for (const Size n : {0, 1, 5, 20, 21, 29, 30, 31, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      kernels::parallel_ranges(n, 1, kernels::Work{10}, [&](Size begin, Size end) {
        for (Size i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      for (const std::atomic<int>& once : seen) EXPECT_EQ(once, 1) << n;
    }
  }
}

}  // namespace
}  // namespace regard::test
