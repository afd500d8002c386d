#include "kernels/masked_product.hpp"

#include <atomic>
#include <cmath>
#include <limits>

#include "kernels/loops.hpp"
#include "kernels/matmul.hpp"
#include "memory/pool.hpp"

namespace regard::kernels {
namespace {

Shape leading(const Shape& shape) {
  Shape out = shape;
  out.erase(out.rank() - 1);
  out.erase(out.rank() - 1);
  return out;
}

// The array stretched to `shape` by strides of 0.
Array stretch(const Array& x, const Shape& shape) {
  return batch_of(x, shape, 0);
}

template <class T>
bool all_finite(const Array& x) {
  Array once = x;
  for (int axis = 0; axis < x.shape.rank(); ++axis)
    if (x.strides[axis] == 0 && x.shape[axis] > 1) once.shape[axis] = 1;
  constexpr T largest = std::numeric_limits<T>::max();
  std::atomic<bool> finite{true};
  for_each_row_in_parallel<1>({&once}, moved, [&](const auto& at, Size n, const auto& step) {
    const T* const row = once.as<T>() + at[0];
    bool all = true;
    if (step[0] == 1) {
      for (Size i = 0; i < n; ++i) all &= std::abs(row[i]) <= largest;
    } else {
      for (Size i = 0; i < n; ++i) all &= std::abs(row[i * step[0]]) <= largest;
    }
    if (!all) finite = false;
  });
  return finite;
}

// Is every hidden element 0 already? Weights after a masked softmax are, and so are gradients of masked
// scores.
template <class T>
bool hides_only_zeros(const Array& m, const Array& keep) {
  std::atomic<bool> zeros{true};
  for_each_row_in_parallel<2>({&m, &keep}, moved, [&](const auto& at, Size n, const auto& step) {
    const T* const row = m.as<T>() + at[0];
    const bool* const kept = keep.as<bool>() + at[1];
    bool all = true;
    if (step[0] == 1 && step[1] == 1) {
      for (Size i = 0; i < n; ++i) all &= kept[i] | (row[i] == 0);
    } else {
      for (Size i = 0; i < n; ++i) all &= kept[i * step[1]] | (row[i * step[0]] == 0);
    }
    if (!all) zeros = false;
  });
  return zeros;
}

template <class T>
void zero_hidden(const Array& m, const Array& keep) {
  for_each_row_in_parallel<2>({&m, &keep}, moved, [&](const auto& at, Size n, const auto& step) {
    T* const row = m.as<T>() + at[0];
    const bool* const kept = keep.as<bool>() + at[1];
    for (Size i = 0; i < n; ++i)
      if (!kept[i * step[1]]) row[i * step[0]] = T{0};
  });
}

template <class T>
void scores_kernel(const Call& call) {
  // One product of all pairs: an element of it depends on its own two rows alone, so a NaN hidden here is
  // gone.
  multiply<T>(call.out(), call.in(0), call.in(1), {false, true, call.get<double>()});
  zero_hidden<T>(call.out(), stretch(call.in(2), call.out().shape));
}

/// f(x) of each element of an array, row-major.
template <class T>
struct Mapped {
  detail::PoolArray<T> numbers;
  Array array;

  template <class F>
  Mapped(const Array& x, F f)
      : numbers(detail::PoolArray<T>::unset(static_cast<std::size_t>(numel(x.shape)))),
        array{numbers.data(), x.dtype, x.shape, contiguous_strides(x.shape)} {
    map1<T, T>(x, array, f);
  }
};

// Adds the products of what is not finite in `dense`, pair by pair, leaving out the hidden ones.
template <class T>
void add_non_finite(const Array& out, const Array& m, const Array& dense, const Array& keep, bool transpose,
                    T alpha) {
  const Shape batch = leading(out.shape);
  const int row = batch.rank(), column = row + 1;
  const Array outs = batch_of(out, batch), ms = batch_of(m, batch), denses = batch_of(dense, batch),
              keeps = batch_of(keep, batch);
  const int m_row = m.shape.rank() - 2, dense_row = dense.shape.rank() - 2;
  const Size rows = m.shape[m_row], columns = m.shape[m_row + 1], width = out.shape[column];
  const Size m_step = m.strides[transpose ? m_row : m_row + 1],
             m_next = m.strides[transpose ? m_row + 1 : m_row];
  const Size keep_step = keep.strides[transpose ? row : column],
             keep_next = keep.strides[transpose ? column : row];
  const Size inner = transpose ? rows : columns, outer = transpose ? columns : rows;
  const auto matrix = [&](T* y, const T* weights, const T* x, const bool* kept) {
    for (Size j = 0; j < inner; ++j)
      for (Size c = 0; c < width; ++c) {
        const T value = x[j * dense.strides[dense_row] + c * dense.strides[dense_row + 1]];
        if (std::isfinite(value)) continue;
        for (Size i = 0; i < outer; ++i)
          if (kept[i * keep_next + j * keep_step])
            y[i * width + c] += alpha * weights[i * m_next + j * m_step] * value;
      }
  };
  for_each_row<4>({&outs, &ms, &denses, &keeps}, [&](const auto& at, Size n, const auto& step) {
    for (Size i = 0; i < n; ++i)
      matrix(out.as<T>() + at[0] + i * step[0], m.as<T>() + at[1] + i * step[1],
             dense.as<T>() + at[2] + i * step[2], keep.as<bool>() + at[3] + i * step[3]);
  });
}

// A finite row times 0 is 0: with zeros where M is hidden, one product of all pairs says the same. What is
// not finite is left out of that product and added behind it, so that what it is hidden from is the same to
// the last bit.
template <class T>
void mix(const Call& call, bool transpose) {
  const Array &m = call.in(0), &dense = call.in(1);
  const double alpha = call.get<double>();
  Shape full = leading(call.out().shape);
  full.push_back(m.shape[m.shape.rank() - 2]);
  full.push_back(m.shape.back());
  const Array keep = stretch(call.in(2), full), stretched = stretch(m, full);
  const auto multiply_shown = [&](const Array& finite) {
    if (hides_only_zeros<T>(stretched, keep))
      return multiply<T>(call.out(), m, finite, {transpose, false, alpha});
    const Mapped<T> shown(stretched, [](T x) { return x; });
    zero_hidden<T>(shown.array, keep);
    multiply<T>(call.out(), shown.array, finite, {transpose, false, alpha});
  };
  if (all_finite<T>(dense)) return multiply_shown(dense);
  multiply_shown(Mapped<T>(dense, [](T x) { return std::isfinite(x) ? x : T{0}; }).array);
  add_non_finite<T>(call.out(), m, dense, keep, transpose, static_cast<T>(alpha));
}

template <class T>
void mix_kernel(const Call& call) {
  mix<T>(call, false);
}

template <class T>
void mix_transposed_kernel(const Call& call) {
  mix<T>(call, true);
}

}  // namespace

const KernelSet masked_scores = {scores_kernel<float>, scores_kernel<double>};
const KernelSet masked_mix = {mix_kernel<float>, mix_kernel<double>};
const KernelSet masked_mix_transposed = {mix_transposed_kernel<float>, mix_transposed_kernel<double>};

}  // namespace regard::kernels
