// What PyTorch computed and what regard computes from the same inputs, as a table of differences.
// scripts/compare-with-pytorch runs both.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <regard/error.hpp>

#include "parity/parity.hpp"

namespace {

using namespace regard;          // NOLINT: a program
using namespace regard::parity;  // NOLINT: whose data is the tests'

constexpr int success = 0, apart = 1, usage_error = 2;

struct Settings {
  std::string file;
  std::string dtype;
  std::string only;
  bool all = false;
};

/// The largest difference of a kind, and whether all of that kind are within bounds.
struct Worst {
  double value = 0;
  bool ok = true;
  bool any = false;

  void take(const Difference& d) {
    any = true;
    value = std::max(value, d.value);
    ok = ok && d.ok();
  }
};

// Ten characters; what is too far is marked.
std::string cell(const Worst& worst) {
  return worst.any ? fmt::format("{:>9.1e}{}", worst.value, worst.ok ? ' ' : '!')
                   : fmt::format("{:>9} ", "-");
}

int compare(const Settings& settings) {
  const File file = read(settings.file);
  const std::vector<DType> dtypes = settings.dtype.empty() ? std::vector<DType>{float64, float32}
                                                           : std::vector<DType>{parse_dtype(settings.dtype)};
  std::size_t width = 0;
  for (const Case& c : file.cases) width = std::max(width, c.name.size());

  std::cout << fmt::format("{:{}}", "", width);
  for (const DType dtype : dtypes) std::cout << fmt::format("  {:>21}", name(dtype));
  std::cout << fmt::format("\n{:{}}", "largest |ours - theirs| / largest |theirs|", width);
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    std::cout << fmt::format("  {:>9}   {:>9}", "values", "gradients");
  std::cout << "\n";

  std::size_t shown = 0, far = 0;
  for (const Case& c : file.cases) {
    if (c.name.find(settings.only) == std::string::npos) continue;
    ++shown;
    std::string line = fmt::format("{:{}}", c.name, width), details;
    bool good = true;
    for (const DType dtype : dtypes) {
      Worst values, gradients;
      for (const Difference& d : differences(c, run(c.in(dtype)), dtype)) {
        (d.name == "output" ? values : gradients).take(d);
        if (settings.all || !d.ok())
          details +=
              fmt::format("    {} {}: {:.1e}, allowed {:.0e}\n", name(dtype), d.name, d.value, d.bound);
      }
      line += fmt::format("  {}  {}", cell(values), cell(gradients));
      good = good && values.ok && gradients.ok;
    }
    while (line.back() == ' ') line.pop_back();
    std::cout << line << "\n" << details;
    if (!good) ++far;
  }
  if (shown == 0) throw ValueError("no case is called like \"" + settings.only + "\"");
  std::cout << fmt::format("\n{} cases against PyTorch {}: ", shown, file.torch);
  if (far > 0) {
    std::cout << fmt::format("{} too far apart (marked !)\n", far);
    return apart;
  }
  std::cout
      << "all as near as they should be (float64: values 1e-12, gradients and trained parameters 1e-10; "
         "float32: 1e-5)\n";
  return success;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app(
      "Compares what PyTorch computed, in a file that tests/golden/pytorch.py wrote, with what regard "
      "computes from\n"
      "the same inputs. \"gradients\" are, of the transformers, the parameters at every step. Exits with 0 "
      "if all is\n"
      "within bounds, 1 if something is not, 2 for a file or a command line that makes no sense.",
      "regard-parity");
  app.failure_message(CLI::FailureMessage::simple);
  app.add_option("FILE", settings.file, "what PyTorch computed")->required()->check(CLI::ExistingFile);
  app.add_option("--dtype", settings.dtype, "float64 or float32; both unless given")
      ->check(CLI::IsMember({"float64", "float32"}));
  app.add_option("--only", settings.only, "cases with this in their name");
  app.add_flag("--all", settings.all, "also list every single tensor");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? success : usage_error;
  }
  try {
    return compare(settings);
  } catch (const std::exception& error) {
    std::cerr << "regard-parity: " << error.what() << "\n";
    return usage_error;
  }
}
