#include <regard/capture.hpp>

#include <utility>

#include <regard/error.hpp>

#include "autograd/replay_list.hpp"
#include "kernels/elementwise.hpp"
#include "ops/mask_parts.hpp"

namespace regard {

struct CapturedStep::State {
  enum class Stage { fresh, warm, captured };

  Function step;
  Stage stage = Stage::fresh;
  detail::Serials stale;  ///< what the first call made
  std::unique_ptr<detail::ReplayList> list;
  Tensors bound, outputs;
  Mask mask;  ///< of bound tensors

  void run_as_written(const Tensor* inputs, std::size_t count, const Mask& given);
  void write_down(const Tensor* inputs, std::size_t count, const Mask& given);
  void replay(const Tensor* inputs, std::size_t count, const Mask& given);
  const Tensors& call(const Tensor* inputs, std::size_t count, const Mask& given);
};

namespace {

[[noreturn]] void refuse(const Tensor& input, const Tensor& bound, std::size_t i) {
  const std::string which = "replay: input " + std::to_string(i) + " is ";
  const std::string rest = "; capture another step for it";
  if (input.dtype() != bound.dtype())
    throw DTypeError(which + name(input.dtype()) + ", and was " + name(bound.dtype()) +
                     " when the step was captured" + rest);
  throw ShapeError(which + to_string(input.shape()) + ", and was " + to_string(bound.shape()) +
                   " when the step was captured" + rest);
}

void overwrite(const Tensor& from, const Tensor& to) {
  kernels::Array target = detail::array(to);
  kernels::run(kernels::copy[target.dtype], detail::array(from), target);
}

Tensors detached(const Tensors& outputs) {
  Tensors all;
  for (const Tensor& output : outputs) all.push_back(output.detach());
  return all;
}

}  // namespace

void CapturedStep::State::run_as_written(const Tensor* inputs, std::size_t count, const Mask& given) {
  stale.first = detail::next_serial();
  Tensors row_major;
  for (std::size_t i = 0; i < count; ++i) row_major.push_back(inputs[i].contiguous());
  outputs = detached(step(row_major, given));
  stale.end = detail::next_serial();
  stage = Stage::warm;
}

void CapturedStep::State::write_down(const Tensor* inputs, std::size_t count, const Mask& given) {
  if (detail::context().observer)
    throw GraphError(
        "capture: a recorder (tape, profiler, anomaly mode) is attached, which replays would not tell; "
        "detach it");
  auto fresh = std::make_unique<detail::ReplayList>(stale);
  const auto bind = [](const Tensor& x) {
    const Tensor to = detail::written_by_host_step(x.shape(), x.dtype());
    overwrite(x, to);
    return to;
  };
  bound.clear();
  for (std::size_t i = 0; i < count; ++i) bound.push_back(bind(inputs[i]));
  mask = detail::MaskParts::map(given, bind);
  fresh->finish(step(bound, mask));
  list = std::move(fresh);
  list->results(outputs);
  stage = Stage::captured;
}

void CapturedStep::State::replay(const Tensor* inputs, std::size_t count, const Mask& given) {
  if (count != bound.size())
    throw ValueError("replay: " + std::to_string(count) + " inputs, and " + std::to_string(bound.size()) +
                     " when the step was captured");
  for (std::size_t i = 0; i < count; ++i)
    if (inputs[i].dtype() != bound[i].dtype() || inputs[i].shape() != bound[i].shape())
      refuse(inputs[i], bound[i], i);
  if (!detail::MaskParts::same_kind(given, mask))
    throw ValueError("replay: the mask is \"" + given.describe() + "\", and was \"" + mask.describe() +
                     "\" when the step was captured; capture another step for it");
  list->check();
  for (std::size_t i = 0; i < count; ++i) overwrite(inputs[i], bound[i]);
  detail::MaskParts::each(given, mask, overwrite);
  list->run();
  list->results(outputs);
}

const Tensors& CapturedStep::State::call(const Tensor* inputs, std::size_t count, const Mask& given) {
  switch (stage) {
    case Stage::fresh:
      run_as_written(inputs, count, given);
      break;
    case Stage::warm:
      write_down(inputs, count, given);
      break;
    case Stage::captured:
      replay(inputs, count, given);
      break;
  }
  return outputs;
}

CapturedStep::CapturedStep(Function step) : state_(std::make_unique<State>()) {
  state_->step = std::move(step);
}
CapturedStep::~CapturedStep() = default;
CapturedStep::CapturedStep(CapturedStep&&) noexcept = default;
CapturedStep& CapturedStep::operator=(CapturedStep&&) noexcept = default;

const Tensors& CapturedStep::replay(std::initializer_list<Tensor> inputs, const Mask& mask) {
  return state_->call(inputs.begin(), inputs.size(), mask);
}
const Tensors& CapturedStep::replay(const Tensors& inputs, const Mask& mask) {
  return state_->call(inputs.data(), inputs.size(), mask);
}

bool CapturedStep::captured() const {
  return state_->stage == State::Stage::captured;
}
Size CapturedStep::kernels() const {
  return state_->list ? static_cast<Size>(state_->list->kernels()) : 0;
}

CapturedStep capture(CapturedStep::Function step) {
  return CapturedStep(std::move(step));
}
CapturedStep capture(std::function<Tensors(const Tensors& inputs)> step) {
  return CapturedStep([step = std::move(step)](const Tensors& inputs, const Mask&) { return step(inputs); });
}

}  // namespace regard
