#include <cstring>
#include <new>

#include "memory/pool.hpp"
#include "tensor/impl.hpp"

namespace regard {
namespace detail {

void destroy(Storage* storage) noexcept {
  const std::size_t bytes = storage->bytes + Storage::data_offset;
  Arena* const arena = storage->arena;
  const bool computed = storage->computed;
  storage->~Storage();
  if (arena) return arena->give_back(storage, bytes, computed);
  deallocate(storage, bytes);
}

void destroy(TensorImpl* impl) noexcept {
  const Ref<Storage> numbers = std::move(impl->storage);  // the block may be the one that impl lies in
  const bool lies_there = impl == numbers->first_look();
  impl->~TensorImpl();
  if (!lies_there) deallocate(impl, sizeof(TensorImpl));
}

Ref<Storage> new_storage(Size elements, DType dtype) {
  Size bytes = 0;
  if (__builtin_mul_overflow(elements, item_size(dtype), &bytes))
    throw ShapeError("tensor: " + std::to_string(elements) + " elements of " + name(dtype) +
                     " are more bytes than fit 63 bits");
  const std::size_t size = static_cast<std::size_t>(bytes) + Storage::data_offset;
  Arena* const arena = Arena::current();
  bool used_before = false;
  auto* storage = new (arena ? arena->take(size, used_before) : allocate(size)) Storage;
  storage->used_before = used_before;
  storage->arena = arena;
  storage->bytes = static_cast<std::size_t>(bytes);
  static __thread Size made;
  storage->serial = ++made;
  return Ref<Storage>::adopt(storage);
}

void refuse_empty_handle() {
  throw GraphError("tensor: this handle is empty (default-constructed or moved from); assign it first");
}

Tensor empty(const Shape& shape, DType dtype) {
  Ref<Storage> storage = new_storage(numel(shape), dtype);
  return Access::wrap(new (storage->first_look()) TensorImpl(dtype, shape, std::move(storage)));
}

Tensor view(const Tensor& x, void* data, const Shape& shape, const Strides& strides) {
  const TensorImpl& source = impl(x);
  return Access::wrap(new (allocate(sizeof(TensorImpl))) TensorImpl(
      data, source.array.dtype, shape, strides, has_contiguous_strides(shape, strides), source.storage));
}

bool is_sole_owner(const Tensor& x) {
  const TensorImpl& it = impl(x);
  return it.refs == 1 && it.storage->refs == 1;
}

void require_readable(const Tensor& x, const char* what) {
  const Arena* arena = Arena::current();
  const Storage& storage = *impl(x).storage;
  if (arena && storage.arena == arena && storage.computed)
    throw GraphError(std::string(what) + ": the step that is being captured reads numbers " + to_string(x.shape()) +
                     " that differ in each replay, which would not read them again; compute with tensors (where, "
                     "maximum, ...), or return them as an output of the step");
}

void require_no_capture(const char* what, const char* way_out) {
  if (Arena::current())
    throw GraphError(std::string(what) + ": not in a step that is being captured: a replay would not do it again; " +
                     way_out);
}

bool has_contiguous_strides(const Shape& shape, const Strides& strides) {
  Size step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 0) return true;
    if (shape[axis] != 1 && strides[axis] != step) return false;
    step *= shape[axis];
  }
  return true;
}

}  // namespace detail

using detail::impl;

void Tensor::destroy() noexcept { detail::destroy(static_cast<detail::TensorImpl*>(impl_)); }

DType Tensor::dtype() const { return impl(*this).array.dtype; }
const Shape& Tensor::shape() const { return impl(*this).array.shape; }
const Strides& Tensor::strides() const { return impl(*this).array.strides; }
int Tensor::rank() const { return shape().rank(); }
Size Tensor::numel() const { return regard::numel(shape()); }
Size Tensor::size(int axis) const { return shape()[normalize_axis(axis, rank(), "size")]; }
bool Tensor::requires_grad() const { return static_cast<bool>(impl(*this).node); }
bool Tensor::is_contiguous() const { return impl(*this).contiguous; }

Tensor Tensor::detach() const {
  const kernels::Array& array = impl(*this).array;
  if (!requires_grad()) return *this;
  return detail::view(*this, array.data, array.shape, array.strides);
}

namespace {

double element(const kernels::Array& array, Size offset) {
  switch (array.dtype) {
    case DType::float32: return static_cast<double>(array.as<float>()[offset]);
    case DType::float64: return array.as<double>()[offset];
    case DType::int64: return static_cast<double>(array.as<Size>()[offset]);
    case DType::boolean: return array.as<bool>()[offset] ? 1.0 : 0.0;
  }
  return 0;
}

double checked_element(const kernels::Array& array, const Size* index, std::size_t count) {
  if (count != static_cast<std::size_t>(array.shape.rank()))
    throw ShapeError("at: " + std::to_string(count) + " indices for shape " + to_string(array.shape) + "; expected " +
                     std::to_string(array.shape.rank()));
  Size offset = 0;
  for (int axis = 0; axis < array.shape.rank(); ++axis) {
    const Size extent = array.shape[axis];
    const Size i = index[axis] < 0 ? index[axis] + extent : index[axis];
    if (i < 0 || i >= extent)
      throw ValueError("at: index " + std::to_string(index[axis]) + " is out of range for axis " +
                       std::to_string(axis) + " of shape " + to_string(array.shape));
    offset += i * array.strides[axis];
  }
  return element(array, offset);
}

template <class T>
void require_dtype(const kernels::Array& array, const char* op) {
  if (array.dtype != dtype_of<T>())
    throw DTypeError(std::string(op) + ": the tensor holds " + name(array.dtype) + ", not " +
                     name(dtype_of<T>()) + "; convert it with to(" + name(dtype_of<T>()) + ")");
}

}  // namespace

double Tensor::item() const {
  detail::require_readable(*this, "item");
  if (numel() != 1)
    throw ShapeError("item: expected a tensor with one element, got shape " + to_string(shape()) +
                     "; use at({...}) for one element of many");
  return element(impl(*this).array, 0);
}

double Tensor::at(std::initializer_list<Size> index) const {
  detail::require_readable(*this, "at");
  return checked_element(impl(*this).array, index.begin(), index.size());
}

double Tensor::at(const std::vector<Size>& index) const {
  detail::require_readable(*this, "at");
  return checked_element(impl(*this).array, index.data(), index.size());
}

template <class T>
const T* Tensor::data() const {
  require_dtype<T>(impl(*this).array, "data");
  detail::require_readable(*this, "data");
  if (!is_contiguous())
    throw ShapeError("data: the tensor of shape " + to_string(shape()) + " has strides " + to_string(strides()) +
                     ", not row-major ones; call contiguous() first");
  return impl(*this).array.as<T>();
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  require_dtype<T>(impl(*this).array, "to_vector");
  const Tensor row_major = detach().contiguous();
  const T* first = row_major.data<T>();
  return std::vector<T>(first, first + numel());
}

#define REGARD_INSTANTIATE(T)                 \
  template const T* Tensor::data<T>() const; \
  template std::vector<T> Tensor::to_vector<T>() const;
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
REGARD_INSTANTIATE(Size)
REGARD_INSTANTIATE(bool)
#undef REGARD_INSTANTIATE

}  // namespace regard
