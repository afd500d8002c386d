#include "regard/study/tape_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include <regard/error.hpp>

#include "study/tape_words.hpp"

namespace regard::study {
namespace {

bool is_alias(const Step& step) {
  static const std::set<std::string> names = {"reshape", "expand_dims", "squeeze"};
  return (step.kind == StepKind::view || step.kind == StepKind::rule) && names.count(step.op) != 0;
}

bool is_forward(const Step& step) {
  return step.kind != StepKind::rule && step.kind != StepKind::leaf;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

}  // namespace

TapeWalk::TapeWalk(const TapeRecorder& tape, const std::string& language)
    : tape_(tape), steps_(tape.steps()), language_(language) {
  const std::vector<Step>& steps = steps_;
  const auto note = [this](const Value& value) {
    if (value.id < 0) return;
    if (!value.tensor.defined())
      throw ValueError(
          "tape walk: the tape keeps no values; record it with TapeRecorder tape(TapeKeep::values)");
    values_.emplace(value.id, value);
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    for (const std::vector<Value>* values : {&step.inputs, &step.outputs, &step.targets, &step.sums})
      for (const Value& value : *values) note(value);
    if (step.rule < 0 && !is_alias(step))
      ranges_.push_back({i, i + 1});
    else if (!ranges_.empty())
      ranges_.back().last = i + 1;  // a rule's own kernels, and what is no step of its own
    if (step.kind == StepKind::view && is_alias(step) && step.outputs[0].id != step.inputs[0].id)
      roots_.emplace(step.outputs[0].id, root(step.inputs[0].id));
    if (is_forward(step)) {
      for (const Value& in : step.inputs)
        appears_.emplace(root(in.id), 0);  // unless something gave it before
      for (const Value& out : step.outputs) appears_.emplace(root(out.id), ranges_.size());
      continue;
    }
    appears_.emplace(root(step.inputs[1].id), 0);
    gradients_.emplace(step.inputs[0].id, root(step.inputs[1].id));
    for (std::size_t k = 0; k < step.targets.size(); ++k) {
      gradients_.emplace(step.sums[k].id, root(step.targets[k].id));
      gradients_.emplace(step.outputs[k].id, root(step.targets[k].id));
      appears_.emplace(root(step.targets[k].id), 0);
    }
    const std::string& owner = step.op;
    if (step.kind == StepKind::leaf && owner != "a leaf" && !names_.count(root(step.inputs[1].id))) {
      std::string free = owner;
      const auto is_taken = [&](const auto& entry) { return entry.second == free; };
      for (int copy = 2; std::any_of(names_.begin(), names_.end(), is_taken); ++copy)
        free = owner + "#" + std::to_string(copy);
      names_[root(step.inputs[1].id)] = free;
    }
  }
  std::set<int> seen;
  for (const Step& step : steps) {
    if (step.rule >= 0 || !is_forward(step)) continue;
    for (const std::vector<Value>* values : {&step.inputs, &step.outputs})
      for (const Value& value : *values)
        if (value.id >= 0 && !gradients_.count(value.id) && seen.insert(root(value.id)).second)
          order_.push_back(root(value.id));
  }
  for (const Step& step : steps)  // a backward alone, of what is older than the tape
    for (const Value& target : step.targets)
      if (!gradients_.count(root(target.id)) && seen.insert(root(target.id)).second)
        order_.push_back(root(target.id));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (is_forward(step)) continue;
    const std::size_t place = place_of(static_cast<int>(i));
    std::vector<Arrival>& whole = arrivals_[root(step.inputs[1].id)];
    whole.push_back({place, whole.empty() ? 1 : whole.back().parts, step.inputs[0]});
    for (std::size_t k = 0; k < step.targets.size(); ++k) {
      std::vector<Arrival>& so_far = arrivals_[root(step.targets[k].id)];
      const bool is_first = step.sums[k].id == step.outputs[k].id || so_far.empty();
      so_far.push_back({place, is_first ? 1 : so_far.back().parts + 1, step.sums[k]});
    }
  }
  number();
}

void TapeWalk::number() {
  numbers_.clear();
  int number = 0;
  for (const int id : order_)
    if (names_.count(id) == 0) numbers_[id] = "%" + std::to_string(++number);
}

int TapeWalk::root(int id) const {
  const auto at = roots_.find(id);
  return at == roots_.end() ? id : at->second;
}

void TapeWalk::name(const std::string& name, const Tensor& x) {
  const Value value = tape_.find(x);
  if (value.id < 0)
    throw ValueError("tape walk: the tensor to be called \"" + name + "\" is not on the tape");
  if (name.empty() || name.find_first_of(" \t\n;%") != std::string::npos)
    throw ValueError("tape walk: \"" + name +
                     "\" cannot be a name: it is empty or has a space, ; or % in it");
  for (const auto& [id, taken] : names_)
    if (taken == name && id != root(value.id))
      throw ValueError("tape walk: two tensors are to be called \"" + name + "\"");
  names_[root(value.id)] = name;
  number();
}

std::string TapeWalk::name_of(const Value& value) const {
  if (value.id < 0) return "";
  const int id = root(value.id);
  if (const auto at = names_.find(id); at != names_.end()) return at->second;
  if (const auto at = gradients_.find(id); at != gradients_.end() && at->second != id)
    return "d" + name_of(values_.at(at->second));
  if (const auto at = numbers_.find(id); at != numbers_.end()) return at->second;
  return "#" + std::to_string(id);  // inside a rule
}

std::size_t TapeWalk::size() const {
  return ranges_.size();
}
std::size_t TapeWalk::place() const {
  return place_;
}
bool TapeWalk::step() {
  if (place_ == size()) return false;
  ++place_;
  return true;
}
bool TapeWalk::back() {
  if (place_ == 0) return false;
  --place_;
  return true;
}
void TapeWalk::goto_step(std::size_t place) {
  if (place > size())
    throw ValueError(fmt::format("tape walk: there are {} steps, no step {}", size(), place));
  place_ = place;
}

const TapeWalk::Arrival* TapeWalk::gradient_of(int id, std::size_t place) const {
  const auto at = arrivals_.find(id);
  if (at == arrivals_.end()) return nullptr;
  const auto later =
      std::upper_bound(at->second.begin(), at->second.end(), place,
                       [](std::size_t here, const Arrival& arrival) { return here < arrival.place; });
  return later == at->second.begin() ? nullptr : &*std::prev(later);
}

std::size_t TapeWalk::place_of(int step) const {
  const auto at = std::upper_bound(ranges_.begin(), ranges_.end(), static_cast<std::size_t>(step),
                                   [](std::size_t i, const Range& range) { return i < range.last; });
  return std::min(static_cast<std::size_t>(at - ranges_.begin()) + 1, size());
}

WalkStep TapeWalk::here() const {
  if (place_ == 0) throw ValueError("tape walk: no step has been taken yet");
  return at(place_);
}

WalkStep TapeWalk::at(std::size_t place) const {
  if (place == 0 || place > size())
    throw ValueError(fmt::format("tape walk: there are {} steps, no step {}", size(), place));
  const Step& step = steps_[ranges_[place - 1].first];
  switch (step.kind) {
    case StepKind::rule:
      return rule_step(step, place);
    case StepKind::leaf:
      return leaf_step(step);
    default:
      return forward_step(step);
  }
}

WalkStep TapeWalk::forward_step(const Step& step) const {
  WalkStep shown{step.kind, step.phase, step.op, "", operation_words(step.op, Direction::forward, language_),
                 {},        {}};
  std::vector<std::string> names, shapes, results, result_shapes;
  for (const Value& in : step.inputs) {
    names.push_back(name_of(in));
    if (in.id < 0) continue;
    shapes.push_back(to_string(in.shape));
    shown.inputs.push_back({names.back(), in.tensor});
  }
  for (const Value& out : step.outputs) {
    results.push_back(name_of(out));
    result_shapes.push_back(to_string(out.shape));
    shown.outputs.push_back({results.back(), out.tensor});
  }
  std::string result = joined(results, ", ");
  const std::string formula = translated(forward_formula(step.op, step.attributes, names), language_);
  if (formula != result) result += " = " + formula;
  shown.sentence =
      fmt::format("{}: {} {} → {}", result, step.op, joined(shapes, " × "), joined(result_shapes, ", "));
  return shown;
}

WalkStep TapeWalk::rule_step(const Step& step, std::size_t place) const {
  const bool vietnamese = language_.substr(0, 2) == "vi";
  WalkStep shown{step.kind, step.phase, step.op, "", operation_words(step.op, Direction::backward, language_),
                 {},        {}};
  const std::string y = name_of(step.inputs[1]), dy = "d" + y;
  shown.inputs.push_back({dy, step.inputs[0].tensor});

  std::vector<std::string> inputs;
  std::string attributes, where;
  std::vector<Value> read;
  if (step.forward >= 0) {
    const Step& forward = steps_[static_cast<std::size_t>(step.forward)];
    attributes = forward.attributes;
    read = forward.inputs;
    where = fmt::format(fmt::runtime(vietnamese ? " (bước {})" : " (step {})"), place_of(step.forward));
  }
  for (const Value& in : read) {
    inputs.push_back(name_of(in));
    const auto same = [&](const WalkValue& other) { return other.name == inputs.back(); };
    if (in.id >= 0 && std::none_of(shown.inputs.begin(), shown.inputs.end(), same))
      shown.inputs.push_back({inputs.back(), in.tensor});
  }
  shown.inputs.push_back({y, step.inputs[1].tensor});

  std::vector<std::string> results, sums;
  std::size_t input = 0;
  for (std::size_t k = 0; k < step.targets.size(); ++k) {
    while (input < read.size() && read[input].id != step.targets[k].id) ++input;
    const std::string target = "d" + name_of(step.targets[k]);
    std::string formula = input < read.size()
                              ? translated(rule_formula(step.op, attributes, inputs, y, dy, input), language_)
                              : "";
    if (formula.empty())
      formula = fmt::format(fmt::runtime(vietnamese ? "luật của {}" : "the rule of {}"), step.op);
    results.push_back(fmt::format("{} {} {} {}", target, step.sums[k].id == step.outputs[k].id ? "=" : "+=",
                                  formula, to_string(step.outputs[k].shape)));
    ++input;
    const int parts = gradient_of(root(step.targets[k].id), place)->parts;
    if (step.sums[k].id != step.outputs[k].id)
      sums.push_back(fmt::format(
          fmt::runtime(vietnamese ? "{} nay là tổng của {} phần" : "{} is the sum of {} parts now"), target,
          parts));
    const auto same = [&](const WalkValue& other) { return other.name == target; };
    const auto before = std::find_if(shown.outputs.begin(), shown.outputs.end(), same);
    if (before == shown.outputs.end())
      shown.outputs.push_back({target, step.sums[k].tensor});
    else
      before->tensor = step.sums[k].tensor;
  }
  if (results.empty()) results.push_back(vietnamese ? "không ai cần gradient" : "nobody needs a gradient");
  shown.sentence = fmt::format(fmt::runtime(vietnamese ? "vjp của {}{}: {}" : "vjp of {}{}: {}"), step.op,
                               where, joined(results, ", "));
  if (!sums.empty()) shown.sentence += "; " + joined(sums, ", ");
  return shown;
}

WalkStep TapeWalk::leaf_step(const Step& step) const {
  const bool vietnamese = language_.substr(0, 2) == "vi";
  const std::string x = name_of(step.inputs[1]);
  WalkStep shown{
      step.kind, step.phase, x, "", "", {{x, step.inputs[1].tensor}}, {{"d" + x, step.inputs[0].tensor}}};
  shown.sentence = fmt::format(fmt::runtime(vietnamese ? "d{} đã đủ: {}" : "d{} is complete: {}"), x,
                               to_string(step.inputs[0].shape));
  return shown;
}

std::vector<WalkValue> TapeWalk::known() const {
  std::vector<WalkValue> known;
  for (const int id : order_) {
    const std::string name = name_of(values_.at(id));
    if (appears_.at(id) <= place_) known.push_back({name, values_.at(id).tensor, id});
    if (const Arrival* gradient = gradient_of(id, place_))
      known.push_back({"d" + name, gradient->sum.tensor, gradient->sum.id});
  }
  return known;
}

Tensor TapeWalk::find(const std::string& wanted) const {
  const bool vietnamese = language_.substr(0, 2) == "vi";
  std::vector<std::string> names;
  for (const int id : order_) {
    names.push_back(name_of(values_.at(id)));
    if (names.back() != wanted) continue;
    if (appears_.at(id) <= place_) return values_.at(id).tensor;
    throw ValueError(fmt::format(fmt::runtime(vietnamese ? "{} được tính ở bước {}; đây là bước {}"
                                                         : "{} is computed at step {}; this is step {}"),
                                 wanted, appears_.at(id), place_));
  }
  for (const int id : order_) {
    if (wanted != "d" + name_of(values_.at(id))) continue;
    if (const Arrival* gradient = gradient_of(id, place_)) return gradient->sum.tensor;
    for (std::size_t later = place_ + 1; later <= size(); ++later)
      if (gradient_of(id, later))
        throw ValueError(fmt::format(fmt::runtime(vietnamese ? "{} đến ở bước {}; đây là bước {}"
                                                             : "{} arrives at step {}; this is step {}"),
                                     wanted, later, place_));
    throw ValueError(fmt::format(fmt::runtime(vietnamese ? "không có gradient nào đến {} trên băng này"
                                                         : "no gradient comes to {} on this tape"),
                                 wanted.substr(1)));
  }
  throw ValueError(fmt::format(
      fmt::runtime(vietnamese
                       ? "không có gì tên là {}; có: {} (và gradient của chúng, thêm d ở trước)"
                       : "nothing is called {}; there are: {} (and their gradients, with a d in front)"),
      wanted, joined(names, ", ")));
}

}  // namespace regard::study
