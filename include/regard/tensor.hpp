// Tensor: an immutable value with dtype and shape, and perhaps a place in a graph.
//
// A Tensor is a cheap handle: copying it never copies numbers, and nothing that happens later changes the
// numbers it shows. Views (transpose, slice, reshape where strides allow) share storage. A Tensor and the
// graph behind it belong to the thread that made them (handles are counted without atomics): give another
// thread numbers (to_vector), not handles.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include <regard/dtype.hpp>
#include <regard/export.hpp>
#include <regard/random.hpp>
#include <regard/shape.hpp>

namespace REGARD_API regard {

namespace detail {
struct TensorImpl;
struct Access;
/// What handles need to know of what they point at. Not atomic: a graph belongs to one thread.
struct Counted {
  std::uint32_t refs = 1;
};
}  // namespace detail

/// Numbers of one dtype in a box of some shape, with what is known of where they came from. A copy is another handle of the
/// same numbers.
class Tensor {
 public:
  /// An empty handle; using it in an operation throws. `defined()` tells.
  Tensor() = default;
  Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
    if (impl_) ++impl_->refs;
  }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Tensor() {
    if (impl_ && --impl_->refs == 0) destroy();
  }

  [[nodiscard]] bool defined() const { return impl_ != nullptr; }
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] const Shape& shape() const;
  /// In elements; 0 on a broadcast axis, negative on a flipped one.
  [[nodiscard]] const Strides& strides() const;
  [[nodiscard]] int rank() const;
  /// Number of elements.
  [[nodiscard]] Size numel() const;
  /// Extent of one axis; negative counts from the end. ShapeError when there is no such axis.
  [[nodiscard]] Size size(int axis) const;

  /// True when operations on it are recorded: it stands in a graph, as a leaf or as a result.
  [[nodiscard]] bool requires_grad() const;

  /// The only element, as a double. ShapeError unless there is exactly one.
  [[nodiscard]] double item() const;
  /// One element, bounds checked; negative indices count from the end. ShapeError, ValueError.
  [[nodiscard]] double at(std::initializer_list<Size> index) const;
  [[nodiscard]] double at(const std::vector<Size>& index) const;

  /// The elements in row-major order. T must be the C++ type of dtype(): DTypeError otherwise.
  template <class T>
  [[nodiscard]] std::vector<T> to_vector() const;
  /// First element of a contiguous Tensor of that type; alive as long as some handle to the storage.
  /// DTypeError; ShapeError when it is not contiguous (call contiguous() first).
  template <class T>
  [[nodiscard]] const T* data() const;

  /// Row-major and without gaps.
  [[nodiscard]] bool is_contiguous() const;
  /// The same values laid out row-major; itself when it is contiguous already. Differentiable.
  [[nodiscard]] Tensor contiguous() const;
  /// The same values in another dtype; itself when it is that already. Between floats differentiable.
  /// To int64 truncates toward zero and throws ValueError for what does not fit; to boolean tests != 0.
  [[nodiscard]] Tensor to(DType dtype) const;
  /// The same storage without its place in the graph.
  [[nodiscard]] Tensor detach() const;

 private:
  friend struct detail::Access;
  explicit Tensor(detail::Counted* owned) noexcept : impl_(owned) {}
  void destroy() noexcept;
  detail::Counted* impl_ = nullptr;
};

using Tensors = std::vector<Tensor>;

/// As NumPy prints: [[1. 2.] [3. 4.]] over several lines, large arrays shortened.
std::ostream& operator<<(std::ostream& out, const Tensor& x);
[[nodiscard]] std::string to_string(const Tensor& x);

// ---- making tensors ------------------------------------------------------------------------------------

/// Numbers in nested braces: tensor({{1, 2}, {3, 4}}) is 2 x 2. Kept as double: integers above 2^53 need from_vector.
class NestedList {
 public:
  NestedList(double value) : value_(value) {}  // NOLINT: implicit on purpose, so that braces read as numbers
  NestedList(float value) : value_(static_cast<double>(value)) {}
  NestedList(int value) : value_(value) {}
  NestedList(bool value) : value_(value ? 1.0 : 0.0) {}
  NestedList(Size value) : value_(static_cast<double>(value)) {}
  NestedList(std::initializer_list<NestedList> items) : items_(items), is_list_(true) {}

  bool is_list() const { return is_list_; }
  double value() const { return value_; }
  const std::vector<NestedList>& items() const { return items_; }

 private:
  double value_ = 0;
  std::vector<NestedList> items_;
  bool is_list_ = false;
};

/// Nested lists; ShapeError when they are ragged. An int64 tensor cuts fractions off, as NumPy does; ValueError for
/// what does not fit int64.
[[nodiscard]] Tensor tensor(std::initializer_list<NestedList> values, DType dtype = float64);
/// Rank 0.
[[nodiscard]] Tensor scalar(double value, DType dtype = float64);
/// A copy of `values` in row-major order; ShapeError when the count does not fit the shape.
template <class T>
[[nodiscard]] REGARD_API Tensor from_vector(const std::vector<T>& values, const Shape& shape);
/// A copy of numel(shape) elements at `values`.
template <class T>
[[nodiscard]] REGARD_API Tensor from_memory(const T* values, const Shape& shape);

/// Filled with 0, with 1, or with `value`; the last two have the shape and dtype of x.
[[nodiscard]] Tensor zeros(const Shape& shape, DType dtype = float64);
[[nodiscard]] Tensor ones(const Shape& shape, DType dtype = float64);
[[nodiscard]] Tensor full(const Shape& shape, double value, DType dtype = float64);
[[nodiscard]] Tensor zeros_like(const Tensor& x);
[[nodiscard]] Tensor ones_like(const Tensor& x);
/// 0, 1, ..., count - 1.
[[nodiscard]] Tensor arange(Size count, DType dtype = int64);
/// start, start + step, ... below (above, for a negative step) stop. ValueError for step 0.
[[nodiscard]] Tensor arange(double start, double stop, double step, DType dtype = float64);
/// n x n with ones on the diagonal.
[[nodiscard]] Tensor eye(Size n, DType dtype = float64);
/// Independent draws from [low, high).
[[nodiscard]] Tensor uniform(const Shape& shape, Rng& rng, double low = 0, double high = 1, DType dtype = float64);
/// Independent draws from N(mean, deviation²).
[[nodiscard]] Tensor normal(const Shape& shape, Rng& rng, double mean = 0, double deviation = 1,
                            DType dtype = float64);
/// Glorot & Bengio 2010, equation 16: uniform in ±sqrt(6 / (fan_in + fan_out)), with fan_in and fan_out the last
/// two extents. Keeps the variance of activations and gradients level. ShapeError below rank 2.
[[nodiscard]] Tensor glorot_uniform(const Shape& shape, Rng& rng, DType dtype = float64);
/// Glorot & Bengio 2010, normal with variance 2 / (fan_in + fan_out).
[[nodiscard]] Tensor glorot_normal(const Shape& shape, Rng& rng, DType dtype = float64);
/// He et al. 2015: uniform in ±sqrt(6 / fan_in), level behind relu.
[[nodiscard]] Tensor kaiming_uniform(const Shape& shape, Rng& rng, DType dtype = float64);
/// He et al. 2015, normal with variance 2 / fan_in.
[[nodiscard]] Tensor kaiming_normal(const Shape& shape, Rng& rng, DType dtype = float64);
/// Saxe et al. 2014: a matrix whose rows, or columns where there are fewer of them, have length 1 and stand at right
/// angles; all such matrices are equally likely. ShapeError unless the rank is 2.
[[nodiscard]] Tensor orthogonal(const Shape& shape, Rng& rng, DType dtype = float64);

}  // namespace regard
