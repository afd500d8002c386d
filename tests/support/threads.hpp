// Runs a test on a number of the library's threads.
#pragma once

#include <regard/threads.hpp>

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

}  // namespace regard::test
