// Runs a test on a number of the library's threads.
#pragma once

#include <regard/threads.hpp>

#include "kernels/parallel.hpp"

namespace regard::test {

/// While it lives; then it is as before.
class WithThreads {
 public:
  explicit WithThreads(int count) : before_(threads()) { set_threads(count); }
  ~WithThreads() { set_threads(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

/// While it lives, small arrays are shared out among threads as well, on every thread of the program.
class SmallBlocks {
 public:
  explicit SmallBlocks(int halvings) { kernels::halvings_of_blocks = halvings; }
  ~SmallBlocks() { kernels::halvings_of_blocks = 0; }
  SmallBlocks(const SmallBlocks&) = delete;
  SmallBlocks& operator=(const SmallBlocks&) = delete;
};

}  // namespace regard::test
