#include "kernels/causal_product.hpp"

#include <algorithm>
#include <vector>

#include "kernels/loops.hpp"
#include "kernels/matmul.hpp"

namespace regard::kernels {
namespace {

/// Rows of one matrix.
template <class T>
struct Rows {
  T* first;
  Size step, column_step;

  Rows(const Array& x, Size offset)
      : first(x.as<T>() + offset),
        step(x.strides[x.shape.rank() - 2]),
        column_step(x.strides[x.shape.rank() - 1]) {}
  T& at(Size row, Size column) const { return first[row * step + column * column_step]; }
};

template <class T>
void causal_product_kernel(const Call& call) {
  const Array &out = call.out(), &a = call.in(0), &b = call.in(1), &c = call.in(2);
  const int rank = out.shape.rank();
  const Size n = out.shape[rank - 2], e = out.shape[rank - 1], d = a.shape[a.shape.rank() - 1];
  Shape batch = out.shape;
  batch.erase(rank - 1);
  batch.erase(rank - 2);
  const bool past = call.get<Side>() == Side::past;
  std::vector<double> state(static_cast<std::size_t>(d * e)), row(static_cast<std::size_t>(e));
  // state = Σ_j b_jᵀ·c_j over the rows that were passed.
  const auto matrix = [&](const Rows<T>& y, const Rows<T>& left, const Rows<T>& middle,
                          const Rows<T>& right) {
    std::fill(state.begin(), state.end(), 0.0);
    for (Size passed = 0; passed < n; ++passed) {
      const Size i = past ? passed : n - 1 - passed;
      std::fill(row.begin(), row.end(), 0.0);
      for (Size k = 0; k < d; ++k) {
        double* const sums = state.data() + k * e;
        const double weight = static_cast<double>(middle.at(i, k)), part = static_cast<double>(left.at(i, k));
        for (Size l = 0; l < e; ++l) {
          sums[l] += weight * static_cast<double>(right.at(i, l));
          row[static_cast<std::size_t>(l)] += part * sums[l];
        }
      }
      for (Size l = 0; l < e; ++l) y.at(i, l) = static_cast<T>(row[static_cast<std::size_t>(l)]);
    }
  };
  const Array outs = batch_of(out, batch), as = batch_of(a, batch), bs = batch_of(b, batch),
              cs = batch_of(c, batch);
  for_each_row<4>({&outs, &as, &bs, &cs}, [&](const auto& at, Size count, const auto& step) {
    for (Size i = 0; i < count; ++i)
      matrix({out, at[0] + i * step[0]}, {a, at[1] + i * step[1]}, {b, at[2] + i * step[2]},
             {c, at[3] + i * step[3]});
  });
}

}  // namespace

const KernelSet causal_product = {causal_product_kernel<float>, causal_product_kernel<double>};

}  // namespace regard::kernels
