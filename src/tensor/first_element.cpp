// The compiled half of <regard/xtensor.hpp>. It repeats the declaration: the header needs xtensor, this does
// not.
#include <regard/export.hpp>
#include <regard/tensor.hpp>

#include "tensor/impl.hpp"

namespace REGARD_API regard {
namespace detail {

template <class T>
const T* first_element(const Tensor& x) {
  if (x.dtype() != dtype_of<T>())
    throw DTypeError(std::string("as_xtensor: the tensor holds ") + name(x.dtype()) + ", not " +
                     name(dtype_of<T>()) + "; convert it with to(" + name(dtype_of<T>()) + ")");
  return array(x).as<T>();
}

template const float* first_element<float>(const Tensor&);
template const double* first_element<double>(const Tensor&);
template const Size* first_element<Size>(const Tensor&);
template const bool* first_element<bool>(const Tensor&);

}  // namespace detail
}  // namespace regard
