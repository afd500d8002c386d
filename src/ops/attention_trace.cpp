#include <limits>

#include <regard/autograd.hpp>
#include <regard/ops.hpp>

#include "ops/attention_steps.hpp"
#include "tensor/impl.hpp"

namespace regard {

const AttentionTrace::Gradients& AttentionTrace::gradients() const {
  static const Gradients none;
  return gradients_ ? *gradients_ : none;
}

namespace detail {
namespace {

// Hands each gradient of x to `take`, as a constant. Holding on to the graph of a gradient (create_graph)
// would close a circle from the node through the trace back to the node.
template <class Take>
void watch(const Tensor& x, Take take) {
  if (!x.requires_grad()) return;
  add_hook(x, [take](const Tensor& dx) {
    const NoGrad off;
    take(dx.detach());
    return Tensor();
  });
}

}  // namespace

void AttentionSteps::trace(AttentionTrace& trace) const {
  require_no_capture("attention with a trace", "ask for the trace in a call of its own");
  const NoGrad off;
  const Shape shape = scores_shape;
  const auto flat = [&shape](const Tensor& x) { return reshape(x.detach(), shape); };
  const DType dtype = query.dtype();

  trace.scale = scale;
  trace.raw = flat(matmul(query.detach(), transpose(key.detach())));
  trace.scaled = trace.raw * scale;
  trace.masked = flat(masked);
  if (keep.defined()) {
    const Shape grouped = masked.shape();
    trace.keep = reshape(broadcast_to(keep, grouped), shape);
    trace.scaled = where(trace.keep, flat(scaled), trace.scaled);
    trace.masked = where(trace.keep, trace.masked, scalar(-std::numeric_limits<double>::infinity(), dtype));
  } else {
    trace.keep = broadcast_to(full({}, 1, boolean), shape);
    trace.scaled = flat(scaled);
  }
  trace.weights = flat(weights);
  trace.dropped = flat(dropped);
  const Shape output_shape{shape[0], shape[1], shape[2], output.shape().back()};
  trace.output = reshape(output.detach(), output_shape);
  trace.logsumexp = logsumexp(trace.masked, {-1});
  trace.entropy = entropy(trace.weights);

  using Gradients = AttentionTrace::Gradients;
  const auto gradients = std::make_shared<Gradients>();
  trace.gradients_ = gradients;
  const Tensor slope = softcap ? 1.0 - square(tanh(flat(scaled) / *softcap)) : Tensor();
  watch(masked, [gradients, shape, slope, factor = scale](const Tensor& dx) {
    // A bias is added, so that the scaled scores have the gradient of the masked ones, but for the cap.
    gradients->masked = reshape(dx, shape);
    gradients->scaled = slope.defined() ? gradients->masked * slope : gradients->masked;
    gradients->raw = gradients->scaled * factor;
  });
  watch(weights, [gradients, shape](const Tensor& dx) { gradients->weights = reshape(dx, shape); });
  watch(dropped, [gradients, shape](const Tensor& dx) { gradients->dropped = reshape(dx, shape); });
  watch(output,
        [gradients, output_shape](const Tensor& dx) { gradients->output = reshape(dx, output_shape); });
}

}  // namespace detail
}  // namespace regard
