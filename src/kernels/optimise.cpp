#include "kernels/optimise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "kernels/loops.hpp"
#include "kernels/vector/table.hpp"
#include "memory/pool.hpp"

// An output may be its input; then each element depends on itself alone, which the compiler cannot know.
#if defined(__GNUC__) && !defined(__clang__)
#define ELEMENTS_ARE_INDEPENDENT _Pragma("GCC ivdep")
#elif defined(__clang__)
#define ELEMENTS_ARE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ELEMENTS_ARE_INDEPENDENT
#endif

namespace regard::kernels {
namespace {

/// Pointers to where each array's row starts, of p, g, moments ..., new p, new moments ...
template <class T, std::size_t moments>
using Starts = std::array<T*, 3 + 2 * moments>;

/// Element i of array a is row[a][place(i, a)].
template <std::size_t moments, class T, class Place, class Step>
void update_row(const Starts<T, moments>& row, Size n, const Place& place, const Step& step) {
  constexpr std::size_t p = 0, g = 1, m = 2, new_p = 2 + moments, new_m = 3 + moments;
  ELEMENTS_ARE_INDEPENDENT
  for (Size i = 0; i < n; ++i) {
    T value = row[p][place(i, p)];
    std::array<T, moments> moment;
    for (std::size_t k = 0; k < moments; ++k) moment[k] = row[m + k][place(i, m + k)];
    step(value, row[g][place(i, g)], moment);
    row[new_p][place(i, new_p)] = value;
    for (std::size_t k = 0; k < moments; ++k) row[new_m + k][place(i, new_m + k)] = moment[k];
  }
}

/// rows(starts, n, steps, are all steps 1?) for rows of all arrays together.
template <class T, std::size_t moments, class UpdateRow>
void update_rows(const Call& call, const UpdateRow& update) {
  std::array<const Array*, 3 + 2 * moments> arrays;
  std::size_t count = 0;
  for (int i = 0; i < call.input_count; ++i) arrays[count++] = &call.in(i);
  for (int i = 0; i < call.output_count; ++i) arrays[count++] = &call.out(i);

  constexpr int all = 3 + 2 * moments;
  for_each_row_in_parallel<all>(arrays, computed, [&](const auto& at, Size n, const auto& steps) {
    Starts<T, moments> row;
    bool dense = true;
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = arrays[i]->template as<T>() + at[i];
      dense = dense && steps[i] == 1;
    }
    update(row, n, steps, dense);
  });
}

/// Are all arrays row-major and without gaps?
bool all_dense(const Call& call) {
  const Shape& shape = call.in(0).shape;
  Size step = 1;
  bool dense = true;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) continue;
    for (int i = 0; i < call.input_count; ++i) dense &= call.in(i).strides[axis] == step;
    for (int i = 0; i < call.output_count; ++i) dense &= call.out(i).strides[axis] == step;
    step *= shape[axis];
  }
  return dense;
}

/// step(p, g, moments) changes p and the moments of one element. Where all rows are dense the place is the
/// identity, so that the loop can be vectorised.
template <class T, std::size_t moments, class Step>
void update_each(const Call& call, const Step& step) {
  update_rows<T, moments>(call, [&](const Starts<T, moments>& row, Size n, const auto& steps, bool dense) {
    if (dense)
      update_row<moments>(
          row, n, [](Size i, std::size_t) { return i; }, step);
    else
      update_row<moments>(
          row, n, [&](Size i, std::size_t array) { return i * steps[array]; }, step);
  });
}

template <class T, bool with_momentum, bool nesterov>
void sgd_kernel(const Call& call) {
  const auto& now = call.get<SgdStep>();
  const T rate = static_cast<T>(now.rate), l2 = static_cast<T>(now.decay);
  const T momentum = static_cast<T>(now.momentum);
  const T gain = static_cast<T>(now.t == 1 ? 1 : 1 - now.dampening);
  update_each<T, with_momentum>(call, [=](T& value, T g, auto& m) {
    const T gradient = g + l2 * value;
    T direction = gradient;
    if constexpr (with_momentum) {
      m[0] = momentum * m[0] + gain * gradient;
      direction = nesterov ? gradient + momentum * m[0] : m[0];
    }
    value = value - rate * direction;
  });
}

/// What undoes the moments' start at 0: the same for every parameter of a step, and two powers to work out.
struct AdamCorrections {
  double beta1, beta2, t, first, second;

  static const AdamCorrections& of(const AdamStep& now) {
    static __thread AdamCorrections latest;
    if (latest.t != now.t || latest.beta1 != now.beta1 || latest.beta2 != now.beta2)
      latest = {now.beta1, now.beta2, now.t, 1 / (1 - std::pow(now.beta1, now.t)),
                1 / std::sqrt(1 - std::pow(now.beta2, now.t))};
    return latest;
  }
};

template <class T>
void adam_kernel(const Call& call) {
  const auto& now = call.get<AdamStep>();
  const AdamCorrections& corrections = AdamCorrections::of(now);
  const T rate = static_cast<T>(now.rate * corrections.first);
  const T correction = static_cast<T>(corrections.second);
  const T beta2 = static_cast<T>(now.beta2), epsilon = static_cast<T>(now.epsilon);
  const T gain1 = static_cast<T>(1 - now.beta1), gain2 = static_cast<T>(1 - now.beta2);
  const T l2 = static_cast<T>(now.decoupled ? 0 : now.decay);
  const T shrink = static_cast<T>(now.decoupled ? 1 - now.rate * now.decay : 1);
  const AdamFigures<T> figures{rate, correction, beta2, epsilon, gain1, gain2, l2, shrink};
  const auto dense_row = rows<T>().adam;
  if (all_dense(call))
    return parallel_ranges(numel(call.in(0).shape), 1, computed, [&](Size begin, Size end) {
      const auto in = [&](int i) { return call.in(i).template as<const T>() + begin; };
      const auto out = [&](int i) { return call.out(i).template as<T>() + begin; };
      dense_row(end - begin, figures, {in(0), in(1), in(2), in(3), out(0), out(1), out(2)});
    });
  update_rows<T, 2>(call, [&](const Starts<T, 2>& row, Size n, const auto& steps, bool) {
    update_row<2>(
        row, n, [&](Size i, std::size_t array) { return i * steps[array]; },
        [=](T& value, T g, auto& m) {
          const T gradient = g + l2 * value;
          m[0] = m[0] + gain1 * (gradient - m[0]);
          m[1] = beta2 * m[1] + gain2 * gradient * gradient;
          value = shrink * value - rate * m[0] / (std::sqrt(m[1]) * correction + epsilon);
        });
  });
}

template <class T, bool centered, bool with_momentum>
void rmsprop_kernel(const Call& call) {
  const auto& now = call.get<RmspropStep>();
  const T rate = static_cast<T>(now.rate), epsilon = static_cast<T>(now.epsilon);
  const T stays = static_cast<T>(now.alpha), gain = static_cast<T>(1 - now.alpha);
  const T momentum = static_cast<T>(now.momentum), l2 = static_cast<T>(now.decay);
  update_each<T, 1 + centered + with_momentum>(call, [=](T& value, T g, auto& m) {
    const T gradient = g + l2 * value;
    m[0] = stays * m[0] + gain * gradient * gradient;
    T variance = m[0];
    if constexpr (centered) {
      m[1] = m[1] + gain * (gradient - m[1]);
      variance = m[0] - m[1] * m[1];
      // Rounding may leave it a little below 0; a NaN stays one.
      variance = variance < 0 ? T{0} : variance;
    }
    T direction = gradient / (std::sqrt(variance) + epsilon);
    if constexpr (with_momentum) {
      T& velocity = m[1 + centered];
      velocity = momentum * velocity + direction;
      direction = velocity;
    }
    value = value - rate * direction;
  });
}

template <class T>
void adagrad_kernel(const Call& call) {
  const auto& now = call.get<AdagradStep>();
  const T rate = static_cast<T>(now.rate / (1 + (now.t - 1) * now.rate_decay));
  const T start = static_cast<T>(now.t == 1 ? now.initial_sum : 0);
  const T epsilon = static_cast<T>(now.epsilon), l2 = static_cast<T>(now.decay);
  update_each<T, 1>(call, [=](T& value, T g, auto& m) {
    const T gradient = g + l2 * value;
    m[0] = start + m[0] + gradient * gradient;
    value = value - rate * gradient / (std::sqrt(m[0]) + epsilon);
  });
}

template <class T>
void lion_kernel(const Call& call) {
  const auto& now = call.get<LionStep>();
  const T rate = static_cast<T>(now.rate), shrink = static_cast<T>(1 - now.rate * now.decay);
  const T beta1 = static_cast<T>(now.beta1), beta2 = static_cast<T>(now.beta2);
  const T gain1 = static_cast<T>(1 - now.beta1), gain2 = static_cast<T>(1 - now.beta2);
  update_each<T, 1>(call, [=](T& value, T g, auto& m) {
    const T mixed = beta1 * m[0] + gain1 * g;
    const T sign = mixed > 0 ? T{1} : mixed < 0 ? T{-1} : mixed;  // a NaN stays one
    value = shrink * value - rate * sign;
    m[0] = beta2 * m[0] + gain2 * g;
  });
}

/// total = f(total, x) over all elements of a part, and join(total, that of a part) over the parts in their
/// order.
template <class T, class F, class Join>
void fold(const Call& call, F f, Join join) {
  const T* const x = call.in(0).as<T>();
  const Walk<1> walk({&call.in(0)});
  const Size n = walk.size(), part = block_size(n, 1, moved), parts = n == 0 ? 0 : (n + part - 1) / part;
  const auto totals = detail::PoolArray<double>(static_cast<std::size_t>(parts));
  parallel_for(parts, [&](Size i) {
    double total = 0;
    for_each_row<1>(walk, i * part, std::min(n, (i + 1) * part),
                    [&](const auto& at, Size count, const auto& step) {
                      for (Size k = 0; k < count; ++k)
                        total = f(total, static_cast<double>(x[at[0] + k * step[0]]));
                    });
    totals.data()[i] = total;
  });
  double total = 0;
  for (Size i = 0; i < parts; ++i) total = join(total, totals.data()[i]);
  *call.out().as<double>() = total;
}

template <class T>
void sum_of_squares_kernel(const Call& call) {
  fold<T>(
      call, [](double total, double x) { return total + x * x; }, std::plus<>());
}

template <class T>
void scaled_sum_of_squares_kernel(const Call& call) {
  const double scale = call.get<double>();
  fold<T>(
      call, [scale](double total, double x) { return total + (x / scale) * (x / scale); }, std::plus<>());
}

template <class T>
void largest_magnitude_kernel(const Call& call) {
  // A NaN, once there, stays: every comparison with it is false.
  const auto larger = [](double total, double x) {
    const double magnitude = std::abs(x);
    return magnitude > total || std::isnan(magnitude) ? magnitude : total;
  };
  fold<T>(call, larger, larger);
}

}  // namespace

const KernelSet sgd[3] = {{sgd_kernel<float, false, false>, sgd_kernel<double, false, false>},
                          {sgd_kernel<float, true, false>, sgd_kernel<double, true, false>},
                          {sgd_kernel<float, true, true>, sgd_kernel<double, true, true>}};
const KernelSet adam = {adam_kernel<float>, adam_kernel<double>};
const KernelSet rmsprop[2][2] = {{{rmsprop_kernel<float, false, false>, rmsprop_kernel<double, false, false>},
                                  {rmsprop_kernel<float, false, true>, rmsprop_kernel<double, false, true>}},
                                 {{rmsprop_kernel<float, true, false>, rmsprop_kernel<double, true, false>},
                                  {rmsprop_kernel<float, true, true>, rmsprop_kernel<double, true, true>}}};
const KernelSet adagrad = {adagrad_kernel<float>, adagrad_kernel<double>};
const KernelSet lion = {lion_kernel<float>, lion_kernel<double>};
const KernelSet sum_of_squares = {sum_of_squares_kernel<float>, sum_of_squares_kernel<double>};
const KernelSet scaled_sum_of_squares = {scaled_sum_of_squares_kernel<float>,
                                         scaled_sum_of_squares_kernel<double>};
const KernelSet largest_magnitude = {largest_magnitude_kernel<float>, largest_magnitude_kernel<double>};

}  // namespace regard::kernels
