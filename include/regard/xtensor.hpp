// The bridge to xtensor, for those who include it: a Tensor as an xtensor expression and back. The rest of
// regard does not show xtensor; link regard::xtensor beside regard::regard to have its headers.
//
// ```cpp
// xt::xarray<double> y = xt::exp(as_xtensor<double>(x)) + 1.0;   // reads x where it lies
// const Tensor z = from_xtensor(y * 2.0);
// ```
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <regard/detail/xtensor/array.hpp>
#include <regard/error.hpp>
#include <regard/export.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {

namespace detail {

/// First element of x, whatever its strides. DTypeError unless x holds T.
template <class T>
const T* first_element(const Tensor& x);

/// x's numbers, and a handle that keeps them alive.
template <class T>
using XtensorBuffer = xt::xbuffer_adaptor<const T*, xt::smart_ownership, std::shared_ptr<const Tensor>>;

}  // namespace detail

/// What as_xtensor gives: an xtensor container that reads a Tensor's storage and holds a handle to it.
template <class T>
using XtensorView = xt::xarray_adaptor<detail::XtensorBuffer<T>, xt::layout_type::dynamic>;

/// x as a constant xtensor container: no copy, any strides. It keeps the storage alive, so that it may
/// outlive x: `const auto view = as_xtensor<double>(a + b);` is sound. What is built from the view is an
/// xtensor expression, though, and refers to it: give results the type xt::xarray, not auto. T must be the
/// C++ type of x's dtype: DTypeError otherwise. Outside the graph: what xtensor computes has no gradient.
template <class T>
[[nodiscard]] const XtensorView<T> as_xtensor(const Tensor& x) {
  using View = XtensorView<T>;
  const T* const first = detail::first_element<T>(x);
  const typename View::shape_type shape(x.shape().begin(), x.shape().end());
  const typename View::strides_type strides(x.strides().begin(), x.strides().end());
  detail::XtensorBuffer<T> buffer(first, static_cast<std::size_t>(x.numel()),
                                  std::make_shared<const Tensor>(x.detach()));
  return View(std::move(buffer), shape, strides);
}

/// The values of any xtensor expression, computed once, as a constant Tensor of its shape. float, double and
/// bool keep their type, integers become int64. ValueError for an unsigned integer that does not fit;
/// ShapeError above rank 8.
template <class E>
[[nodiscard]] Tensor from_xtensor(const xt::xexpression<E>& expression) {
  using Element = std::decay_t<typename E::value_type>;
  constexpr bool kept =
      std::is_same_v<Element, float> || std::is_same_v<Element, double> || std::is_same_v<Element, bool>;
  static_assert(kept || std::is_integral_v<Element>, "regard takes xtensor's float, double, bool and integers");
  using Stored = std::conditional_t<kept, Element, std::int64_t>;

  const xt::xarray<Element, xt::layout_type::row_major> values(expression);
  const Shape shape(std::vector<Size>(values.shape().begin(), values.shape().end()));
  if constexpr (std::is_same_v<Element, Stored>) {
    return from_memory<Stored>(values.data(), shape);
  } else {
    std::vector<Stored> converted;
    converted.reserve(values.size());
    for (const Element value : values.storage()) {
      if constexpr (std::is_unsigned_v<Element> && sizeof(Element) == sizeof(Stored))
        if (value > static_cast<Element>(std::numeric_limits<Stored>::max()))
          throw ValueError("from_xtensor: " + std::to_string(value) + " does not fit int64");
      converted.push_back(static_cast<Stored>(value));
    }
    return from_vector(converted, shape);
  }
}

}  // namespace regard
