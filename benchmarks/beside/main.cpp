// Works that compare_pytorch.py times in turns with PyTorch. A conversation: each line of standard input is
// answered by one line.
//   prepare WORK DTYPE THREADS   ready, once it has run a few times
//   round                        seconds per unit of the work prepared last
//   hold WORK DTYPE THREADS      ready, without having run it
//   peak                         bytes by which the process has to grow to run it once
//
//   benchmark_beside --list      names of all works
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>

#include <regard/blas.hpp>

#include "beside/work.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds(const beside::Work& work, int calls) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < calls; ++i) work.run();
  return std::chrono::duration<double>(Clock::now() - start).count() / calls;
}

/// A round takes some 40 ms, or one call.
int calls_of(const beside::Work& work) {
  const double once = std::min(seconds(work, 1), seconds(work, 1));
  const int calls = once > 0.02 ? 1 : static_cast<int>(0.04 / (once + 1e-9)) + 1;
  if (calls < 1000) return calls;
  return static_cast<int>(0.04 / (seconds(work, 100) + 1e-9)) + 1;
}

double most_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

}  // namespace

int main(int count, char** arguments) {
  beside::Works works;
  beside::add_operations(works);
  beside::add_models(works);
  if (count > 1 && std::string(arguments[1]) == "--list") {
    for (const auto& [name, prepare] : works) std::cout << name << "\n";
    return 0;
  }
  beside::Work work;
  int calls = 1;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, name, dtype;
    int threads = 1;
    words >> command >> name >> dtype >> threads;
    try {
      if (command == "prepare" || command == "hold") {
        const auto found = works.find(name);
        if (found == works.end()) throw std::invalid_argument("there is no work " + name);
        regard::set_blas_threads(threads);
        work = {};
        work = found->second(regard::parse_dtype(dtype));
        if (command == "prepare") {
          for (int i = 0; i < 3; ++i) work.run();
          calls = calls_of(work);
        }
        std::cout << "ready" << std::endl;
      } else if (command == "round") {
        std::cout << seconds(work, calls) / work.units << std::endl;
      } else if (command == "peak") {
        const double before = most_memory();
        work.run();
        std::cout << most_memory() - before << std::endl;
      } else {
        throw std::invalid_argument("there is no command " + line);
      }
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
}
