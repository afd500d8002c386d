#include "kernels/contraction.hpp"

#include "kernels/loops.hpp"
#include "kernels/matmul.hpp"
#include "memory/pool.hpp"

namespace regard::kernels {
namespace {

/// [.., n, k] as one matrix [rows, k]: where the rows lie if they are one step apart, else a row-major copy.
template <class T>
class AllRows {
 public:
  explicit AllRows(const Array& x) {
    const int row = x.shape.rank() - 2;
    Size rows = 1, step = 0;
    bool even = true;
    for (int axis = row; axis >= 0; --axis) {
      if (x.shape[axis] == 1) continue;
      if (rows == 1) step = x.strides[axis];
      even &= x.strides[axis] == step * rows;
      rows *= x.shape[axis];
    }
    const Size width = x.shape[row + 1];
    if (even) {
      matrix_ = {x.data, x.dtype, {rows, width}, {step, x.strides[row + 1]}};
      return;
    }
    copy_ = detail::PoolArray<T>::unset(static_cast<std::size_t>(rows * width));
    map1<T, T>(x, {copy_.data(), x.dtype, x.shape, contiguous_strides(x.shape)}, [](T value) { return value; });
    matrix_ = {copy_.data(), x.dtype, {rows, width}, {width, 1}};
  }
  const Array& matrix() const { return matrix_; }

 private:
  Array matrix_;
  detail::PoolArray<T> copy_;
};

template <class T>
void contraction_kernel(const Call& call) {
  const AllRows<T> a(call.in(0)), b(call.in(1));
  multiply<T>(call.out(), a.matrix(), b.matrix(), {true, false, call.get<double>()});
}

}  // namespace

const KernelSet contraction = {contraction_kernel<float>, contraction_kernel<double>};

}  // namespace regard::kernels
