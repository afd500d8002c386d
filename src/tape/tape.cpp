#include <regard/tape.hpp>

#include <chrono>
#include <cstring>
#include <unordered_map>

#include "autograd/observer.hpp"

namespace regard {
namespace detail {
namespace {

struct Look {
  kernels::Array array;
  int id;
  std::vector<int> makers;  ///< steps that gave it: more than one where a view is the same look as its input
};

struct Numbers {
  int writer = -1;
  std::vector<Look> looks;  ///< since they were written
};

Tensor copy_of(const Tensor& x) {
  Tensor copy = empty(x.shape(), x.dtype());
  std::memcpy(array(copy).data, array(x).data, static_cast<std::size_t>(x.numel() * item_size(x.dtype())));
  return copy;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct TapeList : Observer {
  explicit TapeList(TapeKeep what) : keep(what) {}

  void before(const Run& run) override {
    start = seconds_now();
    inputs = inputs_of(run);
    // What nobody else holds may be overwritten by its own kernel, an optimiser's say.
    for (std::size_t i = 0; i < inputs.size(); ++i)
      for (int j = 0; inputs[i].tensor.defined() && j < run.output_count; ++j)
        if (impl(run.outputs[j]).storage->serial == inputs[i].storage)
          inputs[i].tensor = copy_of(inputs[i].tensor);
  }
  void after(const Run& run) override {
    Step& step = add(StepKind::kernel, run.name, std::move(inputs));
    step.seconds = step.start + began - start;
    step.start = start - began;
    for (int i = 0; i < run.output_count; ++i) numbers[impl(run.outputs[i]).storage->serial] = {last(), {}};
    give(step, run);
  }
  void viewed(const Run& run) override { give(add(StepKind::view, run.name, inputs_of(run)), run); }
  void customised(const Run& run) override { give(add(StepKind::custom, run.name, inputs_of(run)), run); }

  bool wants_steps() const override { return true; }
  void recorded() noexcept override { steps.back().recorded = true; }

  void rule_begins(const Node& node, const Tensor& y, const Tensor& dy) override {
    const bool leaf = !node.op && !(node.extras && node.extras->custom);
    Step& step = add(leaf ? StepKind::leaf : StepKind::rule, describe(node), {note(dy), note(y)});
    for (const int maker : look(y)->makers)
      if (!leaf && steps[static_cast<std::size_t>(maker)].op == step.op) step.forward = maker;
    step.module = module_of(node);
    open.push_back(last());
  }
  void gradient(int, const Tensor& x, const Tensor& dx, const Tensor& sum) override {
    if (open.empty()) return;  // the tape began in the middle of this rule
    Step& rule = steps[static_cast<std::size_t>(open.back())];
    rule.outputs.push_back(note(dx));
    rule.targets.push_back(note(x));
    rule.sums.push_back(note(sum));
  }
  void rule_ends() noexcept override {
    if (open.empty()) return;
    Step& rule = steps[static_cast<std::size_t>(open.back())];
    rule.seconds = seconds_now() - began - rule.start;
    open.pop_back();
  }

  Look* look(const Tensor& x) {
    for (Look& look : numbers[impl(x).storage->serial].looks)
      if (look.array.data == array(x).data && look.array.shape == x.shape() &&
          look.array.strides == x.strides())
        return &look;
    return nullptr;
  }
  /// Gives x a number, if it has none, and notes the step that gave x, if one did.
  Value note(const Tensor& x, int maker = -1) {
    if (!x.defined()) return {};
    Numbers& of_storage = numbers[impl(x).storage->serial];
    if (!look(x)) of_storage.looks.push_back({array(x), next_id++, {}});
    Look& known = *look(x);
    if (maker >= 0) known.makers.push_back(maker);
    // Not x.detach(), which may be x itself, whose place in the graph is yet to come.
    const Tensor kept = keep == TapeKeep::values ? view(x, array(x).data, x.shape(), x.strides()) : Tensor();
    return {known.id,
            known.makers.empty() ? of_storage.writer : known.makers.back(),
            impl(x).storage->serial,
            x.dtype(),
            x.shape(),
            x.requires_grad(),
            kept};
  }
  std::vector<Value> inputs_of(const Run& run) {
    std::vector<Value> values;
    for (int i = 0; i < run.input_count; ++i) values.push_back(note(run.inputs[i]));
    return values;
  }

  int last() const { return static_cast<int>(steps.size()) - 1; }
  Step& add(StepKind kind, const std::string& op, std::vector<Value> in) {
    Step& step = steps.emplace_back();
    step.kind = kind;
    step.phase = context().phase;
    step.op = op;
    step.inputs = std::move(in);
    step.rule = open.empty() ? -1 : open.back();
    step.module = open.empty() ? module_path() : steps[static_cast<std::size_t>(step.rule)].module;
    step.recording = context().recording;
    step.start = seconds_now() - began;
    return step;
  }
  void give(Step& step, const Run& run) {
    step.attributes = run.attributes.text();
    for (int i = 0; i < run.output_count; ++i) step.outputs.push_back(note(run.outputs[i], last()));
  }

  TapeKeep keep;
  std::vector<Step> steps;
  std::unordered_map<Size, Numbers> numbers;  ///< by their storage's serial number
  int next_id = 0;
  std::vector<int> open;  ///< rules that run
  double began = seconds_now(), start = 0;
  std::vector<Value> inputs;  ///< of the kernel that runs
};

}  // namespace detail

TapeRecorder::TapeRecorder(TapeKeep keep) : list_(std::make_unique<detail::TapeList>(keep)) {}
TapeRecorder::~TapeRecorder() = default;
const std::vector<Step>& TapeRecorder::steps() const {
  return list_->steps;
}
void TapeRecorder::stop() {
  list_->leave();
}
Value TapeRecorder::find(const Tensor& x) const {
  if (list_->look(x)) return list_->note(x);
  return {-1, -1, detail::impl(x).storage->serial, x.dtype(), x.shape(), x.requires_grad(), {}};
}

}  // namespace regard
