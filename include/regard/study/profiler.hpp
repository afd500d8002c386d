// Where the time goes: what each operation cost, and what lies between them.
//
//   study::Profiler profiler;
//   for (int step = 0; step < 100; ++step) train();
//   std::cout << profiler.ledger();
#pragma once

#include <iosfwd>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/export.hpp>

namespace REGARD_API regard {
namespace study {

/// What one operation cost in one phase, all its calls together.
struct Cost {
  std::string op;
  Phase phase = Phase::forward;
  Size calls = 0;
  double seconds = 0;
  /// Multiplications and additions in products of matrices, what a mask hides included. 0: not counted.
  double flops = 0;
  /// What it must read and write at least: the numbers of its inputs and outputs, each once, those that a
  /// broadcast repeats once. Of a table from which rows are taken, those rows.
  double bytes = 0;
};

/// Costs, the dearest first. That of a CustomOp is that of the kernels in it.
struct CostLedger {
  std::vector<Cost> costs;
  /// In each phase, what passed before an operation since the one before: the graph, memory, checks, and what
  /// the program does itself. Views cost nothing else.
  double between[3] = {0, 0, 0};

  [[nodiscard]] double seconds() const;  ///< of all operations, and between them
  /// Adds the costs of another thread, or of another stretch of time.
  CostLedger& operator+=(const CostLedger& other);
};

/// A table in "en" or "vi", of so many operations at most; the others are one line.
[[nodiscard]] std::string to_string(const CostLedger& ledger, const std::string& language = "en",
                                    std::size_t most = std::numeric_limits<std::size_t>::max());
std::ostream& operator<<(std::ostream& out, const CostLedger& ledger);

/// Adds up what its thread runs, from its construction to stop() or its end. No number that is computed
/// changes by a bit; a call costs two looks at the clock more. A captured step refuses it, see CapturedStep:
/// profile the step as it is written, which runs the same kernels. It must die on the thread that made it.
class Profiler {
 public:
  Profiler();
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// So far.
  [[nodiscard]] CostLedger ledger() const;
  /// Nothing further is counted.
  void stop();

 private:
  class Clerk;
  std::unique_ptr<Clerk> clerk_;
};

}  // namespace study
}  // namespace regard
