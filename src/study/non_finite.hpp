// What a tensor holds that is no number, and when that is worth an alarm.
#pragma once

#include <string>
#include <vector>

#include <regard/tensor.hpp>

namespace regard::study {

struct NonFinite {
  bool nan = false;
  bool infinity = false;
  [[nodiscard]] bool any() const { return nan || infinity; }
};
/// Of an undefined Tensor, or one that is not a float: nothing.
[[nodiscard]] NonFinite non_finite(const Tensor& x);

enum class Finding { nothing, nan_arose, nan_came_in, infinity_arose };
/// The rules of regard/study/anomaly.hpp. `inputs[i]` tells of input i; `masked`: the operation was given a
/// mask.
[[nodiscard]] Finding judge(const std::string& op, bool masked, const std::vector<NonFinite>& inputs,
                            const NonFinite& output);
/// Input 1 is there and boolean.
[[nodiscard]] bool has_mask(const Tensor* inputs, int count);

/// "float64 [3, 4] from -1.5 to 2", "float64 [3] with NaN", "boolean [2]".
[[nodiscard]] std::string summary(const Tensor& x);

}  // namespace regard::study
