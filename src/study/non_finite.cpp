#include "study/non_finite.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <regard/ops.hpp>

namespace regard::study {

NonFinite non_finite(const Tensor& x) {
  if (!x.defined() || !is_float(x.dtype()) || all(isfinite(x))) return {};
  const bool nan = any(isnan(x));
  return {nan, !nan || any(logical_not(logical_or(isfinite(x), isnan(x))))};
}

Finding judge(const std::string& op, bool masked, const std::vector<NonFinite>& inputs,
              const NonFinite& output) {
  if (output.nan) {
    const bool came_in = std::any_of(inputs.begin(), inputs.end(), [](const NonFinite& x) { return x.nan; });
    return came_in ? Finding::nan_came_in : Finding::nan_arose;
  }
  if (!output.infinity) return Finding::nothing;
  const bool finite = std::none_of(inputs.begin(), inputs.end(), [](const NonFinite& x) { return x.any(); });
  // -inf says there: nothing to choose from.
  const bool meant = op == "masked_fill" || op == "logsumexp" || (op == "log_softmax" && masked);
  return finite && !meant ? Finding::infinity_arose : Finding::nothing;
}

bool has_mask(const Tensor* inputs, int count) {
  return count > 1 && inputs[1].defined() && inputs[1].dtype() == boolean;
}

std::string summary(const Tensor& x) {
  if (!x.defined()) return "none";
  std::string text = fmt::format("{} {}", name(x.dtype()), to_string(x.shape()));
  if (!is_float(x.dtype()) || x.numel() == 0) return text;
  const NonFinite bad = non_finite(x);
  if (bad.any())
    return text + " with " + (bad.nan ? bad.infinity ? "NaN and infinities" : "NaN" : "infinities");
  const std::vector<double> values = x.detach().to(float64).to_vector<double>();
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return text + fmt::format(" from {:.6g} to {:.6g}", *low, *high);
}

}  // namespace regard::study
