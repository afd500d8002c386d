// Exercise 3 / Bài 3: a softmax with a mask / softmax có mặt nạ
//
//   P_ij = exp s_ij / Σ_k exp s_ik   over the k that row i keeps / trên những k mà hàng i giữ lại
//
// without softmax(..) itself, and so that / không dùng chính softmax(..), và sao cho
//   - a row adds up to 1 over what it keeps / mỗi hàng cộng lại bằng 1 trên phần được giữ
//   - a row that keeps nothing is 0, not NaN / hàng không giữ gì thì bằng 0, không phải NaN
//   - scores of 1000 do not overflow / score bằng 1000 không làm tràn số
//   - a hidden score changes nothing, be it 10000 or NaN / score bị che không đổi gì, dù là 10000 hay NaN
//
// Useful / Có ích:  masked_fill(x, hidden, value),  logical_not(keep),  max(x, {-1}, keep_axes),  exp,  sum,
//                   isfinite,  equal,  std::numeric_limits<double>::infinity()
#include <limits>

#include "lessons/27_exercises/exercises.hpp"

namespace exercises {

using namespace regard;

Tensor masked_softmax(const Tensor& scores, const Tensor& keep) {
  not_written_yet("masked_softmax", scores, keep);  // yours, in its place / thay dòng này
}

}  // namespace exercises
