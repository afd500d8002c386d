// Works that compare_pytorch.py times in turns with PyTorch. A conversation: each line of standard input is
// answered by one line.
//   prepare WORK DTYPE THREADS   ready, once it has run a few times
//   round                        seconds per unit of the work prepared last
//   hold WORK DTYPE THREADS      ready, without having run it
//   blas                         name, version and kernels of the BLAS
//   peak                         bytes by which the process has to grow to run it once
//
//   benchmark_beside --profile WORK [DTYPE]   what its operations cost, over half a second
//   benchmark_beside --write WORK DTYPE FILE    what another library needs for the same work (safetensors)
//   benchmark_beside --list      names of all works
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>

#include <regard/blas.hpp>
#include <regard/io/safetensors.hpp>
#include <regard/study/profiler.hpp>
#include <regard/threads.hpp>

#include "beside/work.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds(const beside::Work& work, int calls) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < calls; ++i) work.run();
  return std::chrono::duration<double>(Clock::now() - start).count() / calls;
}

/// Runs it a few times, or once if that takes a second. -> how many calls a round has: those of some 40 ms,
/// or one.
int warm_up(const beside::Work& work) {
  if (seconds(work, 1) > 1) return 1;
  for (int i = 0; i < 2; ++i) work.run();
  const double once = std::min(seconds(work, 1), seconds(work, 1));
  const int calls = once > 0.02 ? 1 : static_cast<int>(0.04 / (once + 1e-9)) + 1;
  if (calls < 1000) return calls;
  return static_cast<int>(0.04 / (seconds(work, 100) + 1e-9)) + 1;
}

/// Of the process, as Linux tells it, in bytes: VmRSS, or VmHWM, the most there was.
double memory(const std::string& which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(which + ":", 0) == 0) return 1024 * std::stod(line.substr(which.size() + 1));
  throw std::runtime_error("this system does not tell how much memory a process has");
}

beside::Work prepared(const beside::Works& works, const std::string& name, const std::string& dtype) {
  const auto found = works.find(name);
  if (found == works.end()) throw std::invalid_argument("there is no work " + name);
  return found->second(regard::parse_dtype(dtype));
}

int print_profile(const beside::Works& works, const std::string& name, const std::string& dtype) {
  regard::set_blas_threads(1);
  regard::set_threads(1);
  const beside::Work work = prepared(works, name, dtype);
  for (int i = 0; i < 3; ++i) work.run();
  const regard::study::Profiler profiler;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(500);
  do work.run();
  while (Clock::now() < end);
  std::cout << regard::study::to_string(profiler.ledger(), "en", 12);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  beside::Works works;
  beside::add_operations(works);
  beside::add_models(works);
  beside::add_bare(works);
  beside::add_demo(works);
  const std::string option = count > 1 ? arguments[1] : "";
  try {
    if (option == "--list") {
      for (const auto& [name, prepare] : works) std::cout << name << "\n";
      return 0;
    }
    if (option == "--profile" && count > 2)
      return print_profile(works, arguments[2], count > 3 ? arguments[3] : "float32");
    if (option == "--write" && count > 4) {
      regard::set_blas_threads(1);
      regard::save(arguments[4], beside::demo_data(arguments[2], regard::parse_dtype(arguments[3])));
      return 0;
    }
  } catch (const std::exception& error) {
    std::cerr << "benchmark_beside: " << error.what() << "\n";
    return 2;
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
        regard::set_blas_threads(threads);
        regard::set_threads(threads);
        work = {};
        work = prepared(works, name, dtype);
        if (command == "prepare") calls = warm_up(work);
        std::cout << "ready" << std::endl;
      } else if (command == "round") {
        std::cout << seconds(work, calls) / work.units << std::endl;
      } else if (command == "blas") {
        std::cout << regard::blas_description() << std::endl;
      } else if (command == "peak") {
        std::ofstream("/proc/self/clear_refs") << 5;  // the most starts afresh
        const double before = memory("VmRSS");
        work.run();
        std::cout << memory("VmHWM") - before << std::endl;
      } else {
        throw std::invalid_argument("there is no command " + line);
      }
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
}
