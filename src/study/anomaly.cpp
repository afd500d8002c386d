#include <regard/study/anomaly.hpp>

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include <regard/ops.hpp>

#include "autograd/observer.hpp"
#include "study/non_finite.hpp"

namespace regard::study {
namespace {

using detail::Node;

/// Of what was computed outside of any module: the nearest module or Parameter on the way back, breadth
/// first.
std::string nearest_name(const Tensor* inputs, int count) {
  std::vector<const Node*> queue;
  std::unordered_set<const Node*> seen;
  const auto enqueue = [&](const Tensor* x, int n) {
    for (int i = 0; i < n; ++i)
      if (const Node* node = x[i].defined() ? detail::node_of(x[i]) : nullptr;
          node && seen.insert(node).second)
        queue.push_back(node);
  };
  enqueue(inputs, count);
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const Node& node = *queue[next];
    if (const std::string module = detail::module_of(node); !module.empty()) return module;
    const bool leaf = node.extras && node.extras->cell && !node.extras->cell->name.empty();
    if (leaf) return "Parameter " + node.extras->cell->name;
    enqueue(node.inputs(), node.input_count);
  }
  return "";
}

/// Where the mask is true.
std::vector<Size> first_place(const Tensor& mask, Size& count) {
  const std::vector<bool> flags = mask.to_vector<bool>();
  count = std::count(flags.begin(), flags.end(), true);
  Size at = std::find(flags.begin(), flags.end(), true) - flags.begin();
  std::vector<Size> place(static_cast<std::size_t>(mask.rank()));
  for (int axis = mask.rank() - 1; axis >= 0; --axis) {
    place[static_cast<std::size_t>(axis)] = at % mask.size(axis);
    at /= mask.size(axis);
  }
  return place;
}

}  // namespace

class AnomalyMode::Hunt : detail::Observer {
 public:
  Hunt(const NamedParameters& parameters, const AnomalyOptions& options)
      : parameters_(parameters), options_(options) {}

  std::optional<Anomaly> first;

 private:
  /// A gradient rule that runs.
  struct Rule {
    const Node* node;
    std::string op, module;
    Tensor dy;
  };

  void before(const detail::Run& run) override {
    // What the kernel will overwrite (an optimiser's, a gradient being added up) can only be looked at now.
    overwritten_.assign(static_cast<std::size_t>(run.input_count), std::nullopt);
    for (int i = 0; i < run.input_count; ++i)
      for (int j = 0; j < run.output_count && run.inputs[i].defined(); ++j)
        if (same_numbers(run.inputs[i], run.outputs[j]))
          overwritten_[static_cast<std::size_t>(i)] = non_finite(run.inputs[i]);
  }
  void after(const detail::Run& run) override {
    for (int i = 0; i < run.output_count; ++i) look(run, run.outputs[i], overwritten_);
  }
  void customised(const detail::Run& run) override { look(run, run.outputs[0], {}); }

  void rule_begins(const Node& node, const Tensor&, const Tensor& dy) override {
    rules_.push_back({&node, detail::describe(node), detail::module_of(node), dy});
  }
  void gradient(int, const Tensor&, const Tensor& dx, const Tensor&) override {
    // Of a rule that regard has, every kernel was seen. A user's may make a gradient out of anything.
    if (rules_.empty() || !rules_.back().node->extras || !rules_.back().node->extras->custom) return;
    const Rule rule = rules_.back();
    look({rule.op.c_str(), &rule.dy, 1, &dx, 1, {}}, dx, {});
  }
  void rule_ends() noexcept override {
    if (!rules_.empty()) rules_.pop_back();
  }

  static bool same_numbers(const Tensor& a, const Tensor& b) {
    return detail::impl(a).storage.get() == detail::impl(b).storage.get();
  }

  void look(const detail::Run& run, const Tensor& output,
            const std::vector<std::optional<NonFinite>>& known) {
    if (first && options_.on_alarm == OnAlarm::note) return;
    const NonFinite bad = non_finite(output);
    if (!bad.any() || (!bad.nan && options_.alarm == Alarm::nan)) return;
    std::vector<NonFinite> inputs;
    for (std::size_t i = 0; i < static_cast<std::size_t>(run.input_count); ++i)
      inputs.push_back(i < known.size() && known[i] ? *known[i] : non_finite(run.inputs[i]));
    const Finding finding = judge(run.name, has_mask(run.inputs, run.input_count), inputs, bad);
    if (finding == Finding::nothing) return;
    Anomaly found = describe(run, output, inputs, finding);
    if (!first) first = found;
    if (options_.on_alarm == OnAlarm::error) throw AnomalyError(std::move(found));
  }

  Anomaly describe(const detail::Run& run, const Tensor& output, const std::vector<NonFinite>& inputs,
                   Finding finding) const {
    Anomaly found;
    found.kind = finding == Finding::infinity_arose ? NonFiniteKind::infinity : NonFiniteKind::nan;
    found.phase = detail::context().phase;
    found.op = run.name;
    found.rule = rules_.empty() ? "" : rules_.back().op;
    found.module = rules_.empty() ? module_path() : rules_.back().module;
    if (found.module.empty())
      found.near = rules_.empty()
                       ? nearest_name(run.inputs, run.input_count)
                       : nearest_name(rules_.back().node->inputs(), rules_.back().node->input_count);
    Tensor where = output;
    if (finding == Finding::nan_came_in) {
      const auto at = std::find_if(inputs.begin(), inputs.end(), [](const NonFinite& x) { return x.nan; }) -
                      inputs.begin();
      found.came_in = true;
      where = run.inputs[at];
      found.input = fmt::format("input {}{}", at, parameter_name(where));
    }
    found.shape = where.shape();
    found.place = first_place(found.kind == NonFiniteKind::nan ? isnan(where) : logical_not(isfinite(where)),
                              found.count);
    for (int i = 0; i < run.input_count; ++i) found.inputs.push_back(summary(run.inputs[i]));
    return found;
  }

  std::string parameter_name(const Tensor& x) const {
    for (const auto& [path, parameter] : parameters_) {
      if (same_numbers(parameter.value(), x)) return " (Parameter " + path + ")";
      if (parameter.has_gradient() && same_numbers(parameter.gradient(), x))
        return " (the gradient of " + path + ")";
    }
    return "";
  }

  NamedParameters parameters_;
  AnomalyOptions options_;
  std::vector<Rule> rules_;
  std::vector<std::optional<NonFinite>> overwritten_;  // of the kernel that runs
};

AnomalyMode::AnomalyMode(const NamedParameters& parameters, const AnomalyOptions& options)
    : hunt_(std::make_unique<Hunt>(parameters, options)) {}
AnomalyMode::~AnomalyMode() = default;
const std::optional<Anomaly>& AnomalyMode::first() const {
  return hunt_->first;
}

std::string to_string(const Anomaly& anomaly) {
  const char* const what = anomaly.kind == NonFiniteKind::nan ? "NaN" : "an infinity";
  const std::string elements =
      fmt::format("{} of {} element{}, the first at {}", anomaly.count, numel(anomaly.shape),
                  numel(anomaly.shape) == 1 ? "" : "s", to_string(Sizes(anomaly.place)));
  const std::string module = !anomaly.module.empty() ? ", in " + anomaly.module
                             : !anomaly.near.empty() ? ", outside of any module, after " + anomaly.near
                                                     : "";
  const std::string call =
      anomaly.rule.empty()
          ? module + (anomaly.phase == Phase::optimiser ? ", in an optimiser's step" : ", forward")
          : fmt::format(", in the backward of {}{}", anomaly.rule, module);
  std::string text =
      anomaly.came_in
          ? fmt::format(
                "anomaly: NaN came in with {} {} of {}{}: {}; nothing that was watched had computed it",
                anomaly.input, to_string(anomaly.shape), anomaly.op, call, elements)
          : fmt::format("anomaly: {} arose in {}{}: {} of the result {}", what, anomaly.op, call, elements,
                        to_string(anomaly.shape));
  for (std::size_t i = 0; i < anomaly.inputs.size(); ++i)
    text += fmt::format("{}input {}: {}", i ? ", " : "; ", i, anomaly.inputs[i]);
  return text;
}

}  // namespace regard::study
