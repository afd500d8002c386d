#include <regard/study/summary.hpp>

#include <algorithm>
#include <map>
#include <ostream>

#include <fmt/format.h>

#include <regard/error.hpp>
#include <regard/study/terminal.hpp>
#include <regard/tape.hpp>

#include "study/work.hpp"

namespace regard::study {
namespace {

/// "a.b.c" -> "a.b"; "a" -> "".
std::string above(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

/// Calls f with the path and all that it is in, the model ("") last.
template <class F>
void for_each_around(std::string path, const F& f) {
  for (; !path.empty(); path = above(path)) f(path);
  f(path);
}

double flops_of(const Step& step) {
  return step.kind == StepKind::kernel && !step.inputs.empty()
             ? flops(
                   step.op, [&](std::size_t i) -> const Shape& { return step.inputs[i].shape; },
                   step.outputs[0].shape)
             : 0;
}

/// 1234567 -> "1,234,567".
std::string grouped(Size number) {
  std::string digits = std::to_string(number);
  for (Size at = static_cast<Size>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

/// 1536 -> "1.5 KiB".
std::string memory(Size bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(units); ++unit) amount /= 1024;
  return fmt::format("{:.{}f} {}", amount, unit == 0 ? 0 : 1, units[unit]);
}

std::string label(const ModuleSummary& module) {
  if (module.depth == 0) return "model";
  const std::string name = module.path.substr(module.path.rfind('.') + 1);
  return std::string(2 * static_cast<std::size_t>(module.depth), ' ') + name;
}

std::string learning(const ModuleSummary& module) {
  if (module.frozen == 0) return "";
  return module.frozen == module.parameters ? "  frozen" : fmt::format("  {} frozen", grouped(module.frozen));
}

}  // namespace

Summary detail::summary(const NamedParameters& parameters) {
  // In the order of naming, each module before what is in it.
  Summary result;
  std::map<std::string, std::size_t> places;
  const auto place_of = [&](const std::string& path, const auto& again) -> std::size_t {
    const auto found = places.find(path);
    if (found != places.end()) return found->second;
    const int depth = path.empty() ? 0 : result.modules[again(above(path), again)].depth + 1;
    result.modules.push_back({path, depth, 0, 0, 0, 0});
    return places[path] = result.modules.size() - 1;
  };
  (void)place_of("", place_of);
  for (const auto& [path, parameter] : parameters) {
    const Size count = numel(parameter.shape());
    (void)place_of(above(path), place_of);
    for_each_around(above(path), [&, &owned = parameter](const std::string& around) {
      ModuleSummary& module = result.modules[places.at(around)];
      module.parameters += count;
      module.bytes += count * item_size(owned.dtype());
      if (!owned.trainable()) module.frozen += count;
    });
  }
  return result;
}

Summary detail::summary(const NamedParameters& parameters, Size tokens, const std::function<Tensor()>& pass) {
  if (tokens < 1) throw ValueError("summary: expected at least 1 token, got " + std::to_string(tokens));
  Summary result = summary(parameters);
  result.tokens = tokens;
  std::map<std::string, double> work;
  {
    const NoGrad no_grad;
    const TapeRecorder tape;
    (void)pass();
    for (const Step& step : tape.steps())
      if (const double counted = flops_of(step); counted > 0)
        for_each_around(step.module, [&](const std::string& around) { work[around] += counted; });
  }
  for (ModuleSummary& module : result.modules)
    if (const auto found = work.find(module.path); found != work.end())
      module.flops_per_token = found->second / static_cast<double>(tokens);
  return result;
}

std::string to_string(const Summary& summary, int depth) {
  const bool watched = summary.tokens > 0;
  std::size_t width = 6;
  for (const ModuleSummary& module : summary.modules)
    if (module.depth <= depth)
      width = std::max(width, static_cast<std::size_t>(display_width(label(module))));
  std::string text = fmt::format("{:<{}}  {:>13}  {:>10}", "module", width, "parameters", "memory");
  text += watched ? fmt::format("  {:>14}\n", "FLOP per token") : "\n";
  for (const ModuleSummary& module : summary.modules) {
    if (module.depth > depth) continue;
    text += fmt::format("{:<{}}  {:>13}  {:>10}", label(module), width, grouped(module.parameters),
                        memory(module.bytes));
    if (watched) text += fmt::format("  {:>14}", grouped(static_cast<Size>(module.flops_per_token + 0.5)));
    text += learning(module) + "\n";
  }
  if (watched)
    text += fmt::format("(products of matrices in one pass over {} tokens)\n", grouped(summary.tokens));
  return text;
}

std::ostream& operator<<(std::ostream& out, const Summary& summary) {
  return out << to_string(summary);
}

}  // namespace regard::study
