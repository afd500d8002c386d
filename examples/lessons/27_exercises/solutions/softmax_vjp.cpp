#include "lessons/27_exercises/exercises.hpp"

namespace exercises::solutions {

using namespace regard;

// dx_j = Σ_i dy_i·y_i·(δ_ij - y_j) = y_j·dy_j - y_j·Σ_i y_i·dy_i
Tensor softmax_vjp(const Tensor& y, const Tensor& dy) {
  return y * (dy - sum(y * dy, {-1}, keep_axes));
}

}  // namespace exercises::solutions
