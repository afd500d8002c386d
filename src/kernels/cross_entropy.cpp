#include "kernels/cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <regard/error.hpp>

#include "kernels/rows.hpp"
#include "kernels/summation.hpp"

namespace regard::kernels {
namespace {

/// Counts rows in row-major order, so that a wrong id can be named by its place.
class Place {
 public:
  explicit Place(const Shape& rows, Size first = 0) : rows_(&rows), row_(first) {}
  void next() { ++row_; }
  std::string text() const {
    const Shape& rows = *rows_;
    Sizes index = Sizes::filled(rows.rank(), 0);
    Size rest = row_;
    for (int axis = rows.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % rows[axis];
      rest /= rows[axis];
    }
    return to_string(index);
  }

 private:
  const Shape* rows_;
  Size row_;
};

void require_class(const char* op, Size id, Size classes, Size ignore_index, const Place& place) {
  if (id >= 0 && id < classes) return;
  throw ValueError(std::string(op) + ": target " + std::to_string(id) + " at " + place.text() +
                   " is not a class: expected 0 to " + std::to_string(classes - 1) + ", or ignore_index " +
                   std::to_string(ignore_index));
}

/// w_c, or 1 when there are no weights.
template <class T>
struct Weights {
  const T* first;
  Size step;

  explicit Weights(const Array& weights)
      : first(weights.as<const T>()), step(weights.data ? weights.strides[0] : 0) {}
  double operator()(Size c) const { return first ? static_cast<double>(first[c * step]) : 1.0; }
};

/// a_c for a class id.
template <class T>
struct IdTarget {
  Size id;
  double smoothing;
  double share;  // smoothing / classes
  Weights<T> weight;

  double operator()(Size c) const { return weight(c) * ((c == id ? 1 - smoothing : 0) + share); }
  /// What the row counts in the mean.
  double in_mean() const { return weight(id); }
};

/// a_c for a line of probabilities.
template <class T>
struct ProbabilityTarget {
  LineOf<const T, Size> probabilities;
  double smoothing;
  double share;
  Weights<T> weight;

  double operator()(Size c) const { return weight(c) * ((1 - smoothing) * probabilities[c] + share); }
  double in_mean() const { return 1; }
};

/// The first numbers of the rows of an array [.., classes].
Array without_classes(const Array& x) {
  Array out = x;
  out.shape.erase(x.shape.rank() - 1);
  out.strides.erase(x.shape.rank() - 1);
  return out;
}

/// Blocks of rows of arrays [..], several at a time: some(first) for each gives what is called with the
/// offsets of each of its rows in turn; offsets are in elements, one per array.
template <class Some>
void for_each_of(const Array& a, const Array& b, const Array& c, Size classes, Some some) {
  const Walk<3> walk({&a, &b, &c});
  parallel_ranges(walk.size(), classes, computed, [&](Size begin, Size end) {
    if (begin == end) return;
    auto row = some(begin);
    for_each_row<3>(walk, begin, end, one_by_one<3>(row));
  });
}

/// Calls row(target, x offset, offset in `rows`) for every row: `target` gives a_c, and is a null pointer
/// where the row is ignored. `rows` is an array [..] of the caller's; rows_from(first) gives `row` for a
/// block of them.
template <class T, class RowsFrom>
void for_each_target(const Call& c, const Array& rows, const Array& x, const Array& targets,
                     const Array& weights, RowsFrom rows_from) {
  const CrossEntropy& options = c.get<CrossEntropy>();
  const int axis = x.shape.rank() - 1;
  const Size classes = x.shape[axis];
  const double share = options.smoothing / static_cast<double>(classes);
  const Weights<T> weight(weights);
  const Array lines = without_classes(x);
  if (targets.dtype == DType::int64) {
    for_each_of(lines, rows, targets, classes, [&](Size first) {
      return [&, place = Place(targets.shape, first), row = rows_from(first)](const auto& at) mutable {
        const Size id = targets.as<const Size>()[at[2]];
        if (id == options.ignore_index) {
          row(static_cast<const IdTarget<T>*>(nullptr), at[0], at[1]);
        } else {
          require_class(options.op, id, classes, options.ignore_index, place);
          const IdTarget<T> target{id, options.smoothing, share, weight};
          row(&target, at[0], at[1]);
        }
        place.next();
      };
    });
  } else {
    for_each_of(lines, rows, without_classes(targets), classes, [&](Size first) {
      return [&, row = rows_from(first)](const auto& at) mutable {
        const ProbabilityTarget<T> target{
            {targets.as<const T>() + at[2], targets.strides[axis]}, options.smoothing, share, weight};
        row(&target, at[0], at[1]);
      };
    });
  }
}

/// What softmax needs to know of a row: softmax(x) = exp(x - largest) / total.
template <class T>
struct RowScale {
  double total;
  T largest;

  RowScale(Size n, const T* x) : largest(rows<T>().softmax_scale(n, x, total)) {}
  /// What an earlier one left behind.
  explicit RowScale(const double* kept) : total(kept[1]), largest(static_cast<T>(kept[0])) {}
  void keep(double* room) const {
    room[0] = static_cast<double>(largest);
    room[1] = total;
  }
  /// -log softmax(x).
  double loss(T x) const { return (static_cast<double>(largest) - x) + std::log(total); }
};

/// Σ a_c·loss_c. A class that counts for nothing may have the logit -inf.
template <class T, class Target>
double loss_of(const RowScale<T>& scale, Size n, const T* x, const Target& target) {
  const double log_total = std::log(scale.total);
  return sum_of(n, [&](Size c) {
    const double a = target(c);
    return a == 0 ? 0.0 : a * ((static_cast<double>(scale.largest) - x[c]) + log_total);
  });
}

template <class T>
double loss_of(const RowScale<T>& scale, Size n, const T* x, const IdTarget<T>& target) {
  if (target.smoothing != 0) return loss_of<T, IdTarget<T>>(scale, n, x, target);
  const double a = target(target.id);
  return a == 0 ? 0.0 : a * scale.loss(x[target.id]);
}

/// y = slope·(Σa·softmax(x) - a).
template <class T, class Target>
void differentiate(const RowScale<T>& scale, Size n, const T* x, const Target& target, double slope, T* y) {
  rows<T>().scaled_exp(n, x, scale.largest, T{1}, y);
  const double whole = sum_of(n, target) / scale.total;
  for (Size c = 0; c < n; ++c) y[c] = static_cast<T>(slope * (whole * y[c] - target(c)));
}

template <class T>
void differentiate(const RowScale<T>& scale, Size n, const T* x, const IdTarget<T>& target, double slope,
                   T* y) {
  if (target.smoothing != 0) return differentiate<T, IdTarget<T>>(scale, n, x, target, slope, y);
  const double a = target(target.id), share = a / scale.total;
  rows<T>().scaled_exp(n, x, scale.largest, static_cast<T>(slope * share), y);
  // Here the two terms nearly cancel where the row is learned.
  T own;
  rows<T>().scaled_exp(1, x + target.id, scale.largest, T{1}, &own);
  y[target.id] = static_cast<T>(slope * (share * own - a));
}

template <class T>
void cross_entropy_kernel(const Call& c) {
  const Array &loss = c.out(), &x = c.in(0);
  const Size n = x.shape.back();
  for_each_target<T>(c, loss, x, c.in(1), c.in(2), [&](Size) {
    return
        [&, lines = DenseLines<T>(n, x.strides.back())](const auto* target, Size x_at, Size loss_at) mutable {
          T& y = loss.as<T>()[loss_at];
          y = 0;
          if (!target) return;
          const T* const line = lines.read(x.as<const T>() + x_at);
          y = static_cast<T>(loss_of(RowScale<T>(n, line), n, line, *target));
        };
  });
}

template <class T>
void cross_entropy_backward_kernel(const Call& c) {
  const Array &dx = c.out(), &dy = c.in(0), &x = c.in(1);
  const Size n = x.shape.back();
  for_each_target<T>(c, dy, x, c.in(2), c.in(3), [&](Size first) {
    T* const start = dx.as<T>() + first * n;  // row-major, as the rows come
    return [&, to = start, lines = DenseLines<T>(n, x.strides.back())](const auto* target, Size x_at,
                                                                       Size dy_at) mutable {
      if (target) {
        const T* const line = lines.read(x.as<const T>() + x_at);
        differentiate(RowScale<T>(n, line), n, line, *target, dy.as<const T>()[dy_at], to);
      } else {
        std::fill_n(to, n, T{0});
      }
      to += n;
    };
  });
}

template <class T>
void cross_entropy_mean_kernel(const Call& c) {
  const Array &x = c.in(0), &kept = c.out(2);
  const Size n = x.shape.back();
  struct RowLoss {
    double loss, weight;
  };
  const Size count = numel(kept.shape) / 2;
  const auto of_rows = detail::PoolArray<RowLoss>::unset(static_cast<std::size_t>(count));
  for_each_target<T>(c, without_classes(kept), x, c.in(1), c.in(2), [&](Size first) {
    RowLoss* const start = of_rows.data() + first;
    return [&, to = start, lines = DenseLines<T>(n, x.strides.back())](const auto* target, Size x_at,
                                                                       Size kept_at) mutable {
      RowLoss& own = *to++ = {0, 0};
      if (!target) return;
      const T* const line = lines.read(x.as<const T>() + x_at);
      const RowScale<T> scale(n, line);
      scale.keep(kept.as<double>() + kept_at);
      own = {loss_of(scale, n, line, *target), target->in_mean()};
    };
  });
  PairwiseSum<double> losses, weights;
  for (Size row = 0; row < count; ++row) {
    losses.add(of_rows.data()[row].loss);
    weights.add(of_rows.data()[row].weight);
  }
  const double total = weights.result(), scale = total == 0 ? 0 : 1 / total;
  *c.out(0).as<T>() = static_cast<T>(losses.result() * scale);
  *c.out(1).as<T>() = static_cast<T>(scale);
}

template <class T>
void cross_entropy_mean_backward_kernel(const Call& c) {
  const Array &dx = c.out(), &x = c.in(1), &kept = c.in(5);
  const double slope = static_cast<double>(*c.in(0).as<const T>() * *c.in(4).as<const T>());
  const Size n = x.shape.back();
  for_each_target<T>(c, without_classes(kept), x, c.in(2), c.in(3), [&](Size first) {
    T* const start = dx.as<T>() + first * n;  // row-major, as the rows come
    return [&, to = start, lines = DenseLines<T>(n, x.strides.back())](const auto* target, Size x_at,
                                                                       Size kept_at) mutable {
      if (target) {
        const RowScale<T> scale(kept.as<const double>() + kept_at);
        differentiate(scale, n, lines.read(x.as<const T>() + x_at), *target, slope, to);
      } else {
        std::fill_n(to, n, T{0});
      }
      to += n;
    };
  });
}

template <class T>
void cross_entropy_scale_kernel(const Call& c) {
  const CrossEntropyScale& options = c.get<CrossEntropyScale>();
  const Array& ids = c.in(0);
  const Weights<T> weight(c.in(1));
  Place place(ids.shape);
  PairwiseSum<double> total;
  for_each_row<1>({&ids}, [&](const auto& at, Size n, const auto& step) {
    for (Size i = 0; i < n; ++i, place.next()) {
      const Size id = ids.as<const Size>()[at[0] + i * step[0]];
      if (id == options.ignore_index) continue;
      require_class(options.op, id, options.classes, options.ignore_index, place);
      total.add(weight(id));
    }
  });
  const double sum_of_weights = total.result();
  *c.out().as<T>() = static_cast<T>(sum_of_weights == 0 ? 0 : 1 / sum_of_weights);
}

}  // namespace

const KernelSet cross_entropy = {cross_entropy_kernel<float>, cross_entropy_kernel<double>};
const KernelSet cross_entropy_backward = {cross_entropy_backward_kernel<float>,
                                          cross_entropy_backward_kernel<double>};
const KernelSet cross_entropy_mean = {cross_entropy_mean_kernel<float>, cross_entropy_mean_kernel<double>};
const KernelSet cross_entropy_mean_backward = {cross_entropy_mean_backward_kernel<float>,
                                               cross_entropy_mean_backward_kernel<double>};
const KernelSet cross_entropy_scale = {cross_entropy_scale_kernel<float>, cross_entropy_scale_kernel<double>};

}  // namespace regard::kernels
