// Every public operation, in both float types, at every sample of the op table: is its gradient what
// differences say?
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <regard/error.hpp>
#include <regard/gradcheck.hpp>
#include <regard/study/v_curve.hpp>

#include "op_table/coverage.hpp"
#include "op_table/table.hpp"

namespace {

using namespace regard;        // NOLINT: a program
using namespace regard::test;  // NOLINT: whose data is the tests' table

constexpr int success = 0, hole_or_failure = 1, usage_error = 2;

struct Settings {
  std::string op;
  std::string dtype;
  Coverage coverage = Coverage::slow;
  Formula formula = Formula::five_point;
  int order = 2;
  std::uint64_t seed = 1;
  bool curve = false;
  std::string svg;
  std::string headers = std::string(REGARD_SOURCE_DIR) + "/include/regard";
};

/// What one sample showed.
struct Cell {
  char sign = '-';
  bool failed = false;
};

GradientReport check(const Case& c, DType dtype, const Settings& settings) {
  GradientCheckOptions options;
  options.coverage = settings.coverage;
  options.formula = settings.formula;
  options.order = settings.order;
  options.seed = settings.seed;
  if (dtype == float64) options.tolerance = c.row->gradient_tolerance;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (!is_float(c.inputs[i].dtype())) options.constants.push_back(i);
  options.also_accept = {Verdict::vacuous, Verdict::precision_limited};
  return check_gradients(c.function(), c.inputs, options);
}

bool has_elements(const Case& c) {
  return std::all_of(c.inputs.begin(), c.inputs.end(), [](const Tensor& x) { return x.numel() > 0; });
}

Cell cell_of(const Case& c, const GradientReport& report) {
  const Verdict verdict = report.verdict();
  if (!report.ok())
    return {verdict == Verdict::kink            ? 'k'
            : verdict == Verdict::wrong         ? 'X'
            : verdict == Verdict::not_connected ? 'n'
                                                : '!',
            true};
  if (!has_elements(c)) return {'e', false};
  return {verdict == Verdict::vacuous ? 'v' : verdict == Verdict::precision_limited ? 'p' : '.', false};
}

constexpr const char* legend =
    "  .  ok                          e  ok, and there are no elements    -  has no gradient here (values "
    "only)\n"
    "  v  vacuous                     p  hidden by rounding               k  kink\n"
    "  n  not connected               !  nondeterministic                 X  wrong\n";

std::map<std::string, int> public_functions(const std::string& folder) {
  std::map<std::string, int> functions;
  for (const char* header : {"ops.hpp", "loss.hpp", "attention.hpp"}) {
    std::ifstream file(folder + "/" + header);
    if (!file)
      throw IoError("regard-gradcheck: " + folder + "/" + header +
                    " cannot be read; name the folder of the public headers with --headers");
    std::ostringstream text;
    text << file.rdbuf();
    for (const auto& [function, times] : functions_returning_tensors(text.str()))
      functions[function] += times;
  }
  return functions;
}

std::vector<DType> dtypes_of(const Settings& settings) {
  if (settings.dtype.empty()) return {float64, float32};
  return {parse_dtype(settings.dtype)};
}

int show_matrix(const Settings& settings) {
  const std::vector<DType> dtypes = dtypes_of(settings);
  std::size_t name_width = 0, sample_width = 12;
  for (const Row& row : op_table()) {
    name_width = std::max(name_width, row.name.size());
    sample_width = std::max(sample_width, row.samples.size());
  }
  std::cout << fmt::format("{:{}}", "", name_width);
  for (const DType dtype : dtypes) std::cout << fmt::format("  {:{}}", name(dtype), sample_width);
  std::cout << "\n";

  std::vector<std::string> holes = complaints(public_functions(settings.headers), op_table());
  // Some ways to call a function have a gradient of 0 everywhere (x to the power 0); one that has not must be
  // there.
  std::map<std::pair<std::string, DType>, bool> confirmed;
  std::string failures;
  Size checked = 0;
  for (const Row& row : op_table()) {
    std::string line = fmt::format("{:{}}", row.name, name_width);
    for (const DType dtype : dtypes) {
      std::string signs;
      for (const Sample& sample : row.samples) {
        Cell cell;
        if (row.differentiable && sample.differentiable) {
          const Case c = make_case(row, sample, dtype);
          const GradientReport report = check(c, dtype, settings);
          cell = cell_of(c, report);
          if (cell.failed) failures += describe(c) + "\n" + to_string(report) + "\n";
          ++checked;
        }
        signs += cell.sign;
      }
      line += fmt::format("  {:{}}", signs, sample_width);
      if (row.differentiable) confirmed[{row.function(), dtype}] |= signs.find('.') != std::string::npos;
    }
    while (line.back() == ' ') line.pop_back();
    std::cout << line << std::endl;  // as it goes, since all take a while
  }
  std::cout << "\n" << legend;
  for (const auto& [what, seen] : confirmed)
    if (!seen)
      holes.push_back(
          fmt::format("no sample of {} in {} confirms its gradient", what.first, name(what.second)));
  for (const std::string& complaint : holes) std::cout << "\nhole: " << complaint;
  if (!failures.empty()) std::cout << "\n" << failures;
  const bool good = holes.empty() && failures.empty();
  std::cout << fmt::format("\n{} operations, {} checks: {}\n", op_table().size(), checked,
                           good ? "every gradient is what differences say" : "there are holes or failures");
  return good ? success : hole_or_failure;
}

int show_op(const Settings& settings) {
  bool found = false, good = true;
  GradientFinding pictured;
  for (const Row& row : op_table()) {
    if (row.function() != settings.op && row.name != settings.op) continue;
    found = true;
    for (const DType dtype : dtypes_of(settings)) {
      for (const Sample& sample : row.samples) {
        const Case c = make_case(row, sample, dtype);
        std::cout << describe(c) << "\n";
        if (!row.differentiable || !sample.differentiable) {
          std::cout << "  has no gradient here: only values are compared\n";
          continue;
        }
        const GradientReport report = check(c, dtype, settings);
        good = good && report.ok();
        std::cout << to_string(report);
        for (const GradientFinding& finding : report.findings) {
          if (finding.curve.empty()) continue;
          if (settings.curve) std::cout << study::v_curve_text(finding);
          if (pictured.curve.empty() || finding.verdict > pictured.verdict) pictured = finding;
        }
        std::cout << "\n";
      }
    }
  }
  if (!found) {
    std::set<std::string> names;
    for (const Row& row : op_table()) names.insert(row.function());
    throw ValueError(fmt::format("regard-gradcheck: no operation is called \"{}\"; there are: {}",
                                 settings.op, fmt::join(names, ", ")));
  }
  if (!settings.svg.empty()) study::write_v_curve_svg(settings.svg, pictured);
  return good ? success : hole_or_failure;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app(
      "Checks the gradient of every public operation against differences, in both float types, at every "
      "sample\n"
      "of the op table. Exits with 0 if all agree, 1 if one does not or if an operation is not covered, 2 "
      "for a\n"
      "command line that makes no sense.",
      "regard-gradcheck");
  app.get_formatter()->column_width(34);
  app.failure_message(CLI::FailureMessage::simple);
  bool fast = false;
  app.add_option("--op", settings.op,
                 "show one operation in detail, by function (softmax) or row (\"softmax masked\")");
  app.add_option("--dtype", settings.dtype, "float64 or float32; both unless given")
      ->check(CLI::IsMember({"float64", "float32"}));
  app.add_flag("--fast", fast, "one random direction per input, not every coordinate");
  const std::map<std::string, Formula> formulas = {
      {"central", Formula::central}, {"five-point", Formula::five_point}, {"taylor", Formula::taylor}};
  app.add_option("--formula", settings.formula, "central, five-point or taylor (order of the remainder)")
      ->transform(CLI::CheckedTransformer(formulas).description(""))
      ->default_str("five-point");
  app.add_option("--order", settings.order, "derivatives checked: 1, 2 or 3")
      ->check(CLI::Range(1, 3))
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "of directions and cotangents")->capture_default_str();
  CLI::Option* const curve = app.add_flag(
      "--curve", settings.curve, "with --op: print how the difference falls and rises with the step");
  CLI::Option* const svg =
      app.add_option("--svg", settings.svg, "with --op: draw that of the worst finding to this file");
  app.add_option("--headers", settings.headers,
                 "folder of the public headers, in which holes are looked for");
  try {
    app.parse(argc, argv);
    if (settings.op.empty() && (curve->count() || svg->count()))
      throw CLI::ValidationError("--curve and --svg", "need --op");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? success : usage_error;
  }
  if (fast) settings.coverage = Coverage::fast;
  // Differences show most along a direction: every step is tried there.
  if (settings.curve || !settings.svg.empty()) settings.coverage = Coverage::fast;
  try {
    return settings.op.empty() ? show_matrix(settings) : show_op(settings);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return usage_error;
  }
}
