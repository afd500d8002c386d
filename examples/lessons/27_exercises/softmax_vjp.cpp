// Exercise 1 / Bài 1: the vector-Jacobian product of softmax / tích vector-Jacobi của softmax
//
//   y_i = exp x_i / Σ_k exp x_k        ∂y_i/∂x_j = y_i·(δ_ij - y_j)        dx_j = Σ_i dy_i·∂y_i/∂x_j
//
// Put the second into the third and add up by hand: no matrix is left, only one sum per row.
// Thay công thức thứ hai vào công thức thứ ba rồi rút gọn: không còn ma trận nào, mỗi hàng chỉ còn một tổng.
//
// Useful / Có ích:  a * b,  a - b,  sum(a, {-1}, keep_axes)
#include "lessons/27_exercises/exercises.hpp"

namespace exercises {

using namespace regard;

Tensor softmax_vjp(const Tensor& y, const Tensor& dy) {
  not_written_yet("softmax_vjp", y, dy);  // yours, in its place / thay dòng này
}

}  // namespace exercises
