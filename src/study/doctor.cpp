#include <regard/study/doctor.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "study/non_finite.hpp"

namespace regard::study {
namespace {

bool is_zero(const Tensor& x) {
  return !any(x.detach().to(boolean));
}

double total(const Tensor& x) {
  return sum(abs(x.detach().to(float64))).item();
}

bool is_computation(const Step& step) {
  return step.kind != StepKind::rule && step.kind != StepKind::leaf;
}

std::string place(const Step& step) {
  return step.module.empty() ? step.op : step.op + " in " + step.module;
}

/// What a tape tells about the way from the Parameters to the loss and back.
class Examination {
 public:
  Examination(const TapeRecorder& tape, const Tensor& loss)
      : tape_(tape), steps_(tape.steps()), loss_(tape.find(loss)) {
    if (loss_.id < 0 && loss_.source < 0 && loss.requires_grad())
      throw ValueError("diagnose: the tape has not seen the loss being computed; make it before");
    if (!steps_.empty() && !keeps_values())
      throw ValueError("diagnose: the tape keeps no values; make it with TapeKeep::values");
    loss_.requires_grad = loss.requires_grad();
    find_ancestors();
    rule_of_.assign(steps_.size(), -1);
    for (int i = loss_.source + 1; i < size(); ++i)
      if (at(i).kind == StepKind::rule && at(i).forward >= 0) rule_of_[index(at(i).forward)] = i;
  }

  ParameterHealth examine(const std::string& path, const Parameter& parameter) {
    ParameterHealth found;
    found.parameter = path;
    found.shape = parameter.shape();
    storage_ = tape_.find(parameter.value()).storage;
    const Tensor gradient = gradient_of_leaf();
    if (!gradient.defined()) {
      found.health = Health::missing;
      explain_missing(parameter, found);
      return found;
    }
    const NonFinite bad = non_finite(gradient);
    const std::vector<bool> nonzero = gradient.to(boolean).to_vector<bool>();
    found.zeros = std::count(nonzero.begin(), nonzero.end(), false);
    found.largest = gradient.numel() == 0 ? 0 : max(abs(gradient.to(float64))).item();
    if (bad.any()) {
      found.health = Health::non_finite;
      explain_non_finite(found);
    } else if (gradient.numel() > 0 && found.largest == 0) {
      found.health = Health::zero;
      explain_zero(found);
    } else if (const Step* addition = only_rounding()) {
      set(found, Reason::cancels, *addition);
    }
    return found;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  const Step& at(int i) const { return steps_[index(i)]; }
  int size() const { return static_cast<int>(steps_.size()); }

  void set(ParameterHealth& found, Reason reason, const Step& where, const std::string& detail = "") const {
    found.reason = reason;
    found.op = where.op;
    found.module = where.module;
    found.detail = detail.empty() && where.module.empty() ? after(where) : detail;
  }

  /// For a step outside of all modules: the nearest one before it that is in a module.
  std::string after(const Step& where) const {
    const Step* step = where.kind == StepKind::rule && where.forward >= 0 ? &at(where.forward) : &where;
    while (step->module.empty() && !step->inputs.empty() && step->inputs[0].source >= 0)
      step = &at(step->inputs[0].source);
    return step->module.empty() ? "" : "after " + place(*step);
  }

  bool keeps_values() const {
    for (const Step& step : steps_)
      for (const Value& output : step.outputs)
        if (output.id >= 0) return output.tensor.defined();
    return true;
  }

  void find_ancestors() {
    enters_loss_.assign(steps_.size(), false);
    std::vector<int> open = {loss_.source};
    while (!open.empty()) {
      const int i = open.back();
      open.pop_back();
      if (i < 0 || enters_loss_[index(i)]) continue;
      enters_loss_[index(i)] = true;
      for (const Value& input : at(i).inputs) open.push_back(input.source);
    }
  }

  /// The value is the Parameter, not something computed from it.
  bool is_parameter(const Value& x) const { return x.id >= 0 && x.storage == storage_ && x.source < 0; }

  Tensor gradient_of_leaf() const {
    for (int i = size() - 1; i > loss_.source; --i)
      if (at(i).kind == StepKind::leaf && at(i).inputs[1].storage == storage_) return at(i).inputs[0].tensor;
    return Tensor();
  }

  // ---- missing -----------------------------------------------------------------------------------------

  void explain_missing(const Parameter& parameter, ParameterHealth& found) const {
    found.reason = Reason::not_trainable;
    if (!parameter.trainable()) return;
    // Steps whose result holds something of the Parameter.
    std::vector<bool> carries(steps_.size());
    const auto carried = [&](const Value& x) {
      return is_parameter(x) || (x.source >= 0 && carries[index(x.source)]);
    };
    int last = -1;
    bool reaches = false;
    for (int i = 0; i < size(); ++i) {
      if (!is_computation(at(i)) || std::none_of(at(i).inputs.begin(), at(i).inputs.end(), carried)) continue;
      carries[index(i)] = true;
      last = i;
      reaches = reaches || enters_loss_[index(i)];
    }
    found.reason = Reason::unused;
    if (last < 0) return;
    if (!reaches) return set(found, Reason::unreachable, at(last), "its last use");

    // Those through which a gradient could have come back; the first on the way where it could not is the
    // cut.
    std::vector<bool> open(steps_.size());
    for (int i = 0; i <= loss_.source; ++i) {
      if (!carries[index(i)] || !enters_loss_[index(i)]) continue;
      for (const Value& x : at(i).inputs) {
        if (!is_parameter(x) && (x.source < 0 || !open[index(x.source)])) continue;
        if (cut(i, x, found)) return;
        open[index(i)] = true;
      }
    }
    if (open[index(loss_.source)] && !loss_.requires_grad)
      return set(found, Reason::detached, at(loss_.source), "the loss itself");
    found.reason = Reason::unknown;
  }

  /// Is x's gradient lost at step i, which was given it?
  bool cut(int i, const Value& x, ParameterHealth& found) const {
    const Step& step = at(i);
    if (!step.recording) return set(found, Reason::recording_off, step), true;
    if (!x.requires_grad)
      return set(found, Reason::detached, step,
                 is_parameter(x) ? "value() was used" : "after " + place(at(x.source))),
             true;
    const int rule = rule_of_[index(i)];
    const bool no_rule = step.recorded && rule >= 0 &&
                         std::none_of(at(rule).targets.begin(), at(rule).targets.end(),
                                      [&](const Value& target) { return target.id == x.id; });
    if (step.recorded && !no_rule) return false;
    set(found, Reason::not_differentiable, step);
    return true;
  }

  // ---- zero --------------------------------------------------------------------------------------------

  struct Part {
    int rule;
    std::size_t k;
  };
  template <class Is>
  std::vector<Part> parts_of(const Is& is) const {
    std::vector<Part> parts;
    for (int i = loss_.source + 1; i < size(); ++i)
      for (std::size_t k = 0; k < at(i).targets.size(); ++k)
        if (is(at(i).targets[k])) parts.push_back({i, k});
    return parts;
  }

  /// Follows zeros back towards the loss, to the rules that made them of something else.
  void explain_zero(ParameterHealth& found) const {
    std::vector<Part> open = parts_of([this](const Value& x) { return is_parameter(x); });
    std::set<int> culprits, seen;
    bool cancelled = false;
    while (!open.empty()) {
      const Part part = open.back();
      open.pop_back();
      const Step& rule = at(part.rule);
      if (!is_zero(rule.outputs[part.k].tensor)) {
        cancelled = true;
      } else if (!is_zero(rule.inputs[0].tensor)) {
        culprits.insert(part.rule);
      } else if (seen.insert(rule.inputs[1].id).second) {
        const int y = rule.inputs[1].id;
        for (const Part& above : parts_of([y](const Value& x) { return x.id == y; })) open.push_back(above);
      }
    }
    if (culprits.empty()) {
      found.reason = cancelled ? Reason::cancels : Reason::unknown;
      return;
    }
    const int first = *culprits.begin();  // the nearest to the loss
    const std::string others =
        culprits.size() > 1 ? fmt::format("and {} places more", culprits.size() - 1) : "";
    if (const Step* mask = hiding_mask(first)) return set(found, Reason::masked, *mask, others);
    const Step* const zero = zero_factor(first);
    if (zero && zero->op == "relu") return set(found, Reason::dead_relu, *zero, others);
    if (zero && hides(*zero)) return set(found, Reason::masked, *zero, others);
    const Step& rule = at(first);
    set(found,
        rule.op == "relu"                      ? Reason::dead_relu
        : is_addition(rule)                    ? Reason::cancels
        : zero || rule.op == "multiply_scalar" ? Reason::multiplied_by_zero
                                               : Reason::flat,
        rule, others);
  }

  /// What a factor of 0 in that product comes from: the operation that made it, or the product itself.
  const Step* zero_factor(int i) const {
    const Step& rule = at(i);
    if ((rule.op != "multiply" && rule.op != "matmul" && rule.op != "divide") || rule.forward < 0)
      return nullptr;
    for (const Value& factor : at(rule.forward).inputs) {
      if (!factor.tensor.defined() || !is_zero(factor.tensor)) continue;
      int source = factor.source;
      while (source >= 0 && moves().count(at(source).op)) source = at(source).inputs[0].source;
      return source >= 0 ? &at(source) : &rule;
    }
    return nullptr;
  }

  /// Operations that change no number.
  static const std::set<std::string>& moves() {
    static const std::set<std::string> names = {"concatenate", "stack",     "slice",   "select",
                                                "take",        "gather",    "reshape", "permute",
                                                "expand_dims", "transpose", "squeeze", "contiguous"};
    return names;
  }

  static bool is_addition(const Step& rule) { return rule.op == "add" || rule.op == "subtract"; }

  /// Does the forward of that rule, or of one between it and the loss where it only moves numbers about,
  /// leave out what a mask hides?
  const Step* hiding_mask(int i) const {
    std::vector<int> open = {i};
    std::set<int> seen;
    while (!open.empty()) {
      const int next = open.back();
      open.pop_back();
      if (!seen.insert(next).second) continue;
      if (hides(at(next))) return &at(next);
      if (i == next && !moves().count(at(i).op)) return nullptr;
      const int y = at(next).inputs[1].id;
      for (const Part& above : parts_of([y](const Value& x) { return x.id == y; }))
        open.push_back(above.rule);
    }
    return nullptr;
  }

  /// Of an operation, or its rule.
  bool hides(const Step& step) const {
    static const std::set<std::string> masked = {"masked_scores", "masked_mix", "masked_mix_transposed",
                                                 "masked_fill",   "where",      "log_softmax"};
    if (!masked.count(step.op) || (step.kind == StepKind::rule && step.forward < 0)) return false;
    const Step& forward = step.kind == StepKind::rule ? at(step.forward) : step;
    for (const Value& input : forward.inputs)
      if (input.id >= 0 && input.dtype == boolean) return step.op == "masked_fill" || !all(input.tensor);
    return false;
  }

  /// The addition whose parts leave nothing but rounding: far less than what n terms of that size lose.
  const Step* only_rounding() const {
    for (const Part& part : parts_of([this](const Value& x) { return is_parameter(x); })) {
      const Step& rule = at(part.rule);
      const Tensor &dx = rule.outputs[part.k].tensor, &dy = rule.inputs[0].tensor;
      if (!is_addition(rule) || dx.numel() >= dy.numel()) return nullptr;
      const double epsilon = dx.dtype() == float32 ? std::numeric_limits<float>::epsilon()
                                                   : std::numeric_limits<double>::epsilon();
      if (total(dx) > 32 * epsilon * total(dy)) return nullptr;
      return &rule;
    }
    return nullptr;
  }

  // ---- not finite --------------------------------------------------------------------------------------

  static Finding finding_of(const Step& step) {
    if (step.kind != StepKind::kernel && step.kind != StepKind::custom) return Finding::nothing;
    std::vector<NonFinite> inputs;
    for (const Value& input : step.inputs) inputs.push_back(non_finite(input.tensor));
    const bool masked = step.inputs.size() > 1 && step.inputs[1].id >= 0 && step.inputs[1].dtype == boolean;
    for (const Value& output : step.outputs)
      if (const Finding finding = judge(step.op, masked, inputs, non_finite(output.tensor));
          finding != Finding::nothing)
        return finding;
    return Finding::nothing;
  }

  /// A rule that made something of a finite gradient, and no kernel in it did: a custom one.
  bool made_by_hand(int i) const {
    const Step& rule = at(i);
    if (rule.kind != StepKind::rule || non_finite(rule.inputs[0].tensor).any()) return false;
    if (std::none_of(rule.outputs.begin(), rule.outputs.end(),
                     [](const Value& dx) { return non_finite(dx.tensor).any(); }))
      return false;
    return std::none_of(steps_.begin() + i, steps_.end(), [i](const Step& step) {
      return step.rule == i && finding_of(step) != Finding::nothing;
    });
  }

  void explain_non_finite(ParameterHealth& found) const {
    found.reason = Reason::unknown;
    for (int i = 0; i < size(); ++i) {
      const Step& step = at(i);
      if (made_by_hand(i)) return set(found, Reason::arose_backward, step);
      const Finding finding = finding_of(step);
      if (finding == Finding::nothing) continue;
      const std::string what = finding == Finding::infinity_arose ? "an infinity"
                               : finding == Finding::nan_came_in  ? "NaN came in"
                                                                  : "NaN";
      if (step.rule < 0) return set(found, Reason::arose_forward, step, what);
      return set(found, Reason::arose_backward, at(step.rule), what + ", by " + step.op);
    }
  }

  const TapeRecorder& tape_;
  const std::vector<Step>& steps_;
  Value loss_;
  std::vector<bool> enters_loss_;
  std::vector<int> rule_of_;  // of a step, the rule that the last backward ran
  Size storage_ = 0;          // of the Parameter that is examined
};

/// Puts the Parameters' gradients back.
class Gradients {
 public:
  explicit Gradients(const NamedParameters& parameters) : parameters_(parameters) {
    for (const auto& named : parameters_) before_.push_back(named.second.gradient());
  }
  ~Gradients() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i].second.zero_grad();
      if (before_[i].defined()) parameters_[i].second.set_gradient(before_[i]);
    }
  }
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;

 private:
  NamedParameters parameters_;
  Tensors before_;
};

}  // namespace

Diagnosis diagnose(const NamedParameters& parameters, const TapeRecorder& tape, const Tensor& loss) {
  Examination examination(tape, loss);
  Diagnosis diagnosis;
  for (const auto& [path, parameter] : parameters)
    diagnosis.parameters.push_back(examination.examine(path, parameter));
  return diagnosis;
}

Diagnosis diagnose(const NamedParameters& parameters, const std::function<Tensor()>& loss) {
  const Gradients put_back(parameters);
  TapeRecorder tape(TapeKeep::values);
  const Tensor value = loss();
  if (value.requires_grad()) backward(value);
  tape.stop();
  return diagnose(parameters, tape, value);
}

}  // namespace regard::study
