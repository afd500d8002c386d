// Exercise 2 / Bài 2: the vector-Jacobian product of a matrix product / tích vector-Jacobi của phép nhân ma
// trận
//
//   y_nm = Σ_k a_nk·b_km        da_nk = Σ_m dy_nm·?        db_km = Σ_n ?·dy_nm
//
// The shapes tell where a transpose belongs: da is [n, k] and db [k, m], and only one product of dy with the
// other matrix has that shape.
// Kích thước cho biết chỗ nào cần chuyển vị: da là [n, k], db là [k, m], và chỉ một cách nhân dy với ma trận
// kia cho kích thước ấy.
//
// Useful / Có ích:  matmul(a, b),  transpose(a)
#include "lessons/27_exercises/exercises.hpp"

namespace exercises {

using namespace regard;

Tensors matmul_vjp(const Tensor& a, const Tensor& b, const Tensor& dy) {
  not_written_yet("matmul_vjp", a, b, dy);  // yours: return {da, db}; / thay dòng này
}

}  // namespace exercises
