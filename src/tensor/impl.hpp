// Behind a Tensor: storage, the record that views it, and the handles that count without atomics.
#pragma once

#include <cstdint>
#include <utility>

#include <regard/error.hpp>
#include <regard/tensor.hpp>

#include "kernels/call.hpp"
#include "memory/arena.hpp"
#include "memory/pool.hpp"

namespace regard::detail {

/// A counted handle to an object with `refs` and an overload of destroy(T*). Not atomic: a graph belongs to one
/// thread.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes over a new object whose count is already 1.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref share(T* object) {
    if (object) ++object->refs;
    return adopt(object);
  }
  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_) ++object_->refs;
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class Derived>
  Ref(Ref<Derived> other) noexcept : object_(other.release()) {}  // NOLINT: as a pointer converts
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && --object_->refs == 0) destroy(object_);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* release() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

/// What a Tensor knows of the node that computed it: that it is counted. The rest is autograd/node.hpp.
struct NodeBase : Counted {};
void destroy(NodeBase* node) noexcept;

/// Row-major strides in place of a shape.
inline void make_contiguous(Sizes& sizes) {
  std::uint64_t step = 1;  // only where there are no elements, and so no steps, can it overflow
  for (int i = sizes.rank() - 1; i >= 0; --i) {
    const Size extent = sizes[i];
    sizes[i] = static_cast<Size>(step);
    step *= static_cast<std::uint64_t>(extent < 1 ? 1 : extent);
  }
}

/// Header of one block of numbers. Behind it is room for the first look at them, then come the numbers.
struct Storage : Counted {
  std::size_t bytes = 0;  ///< of the numbers
  Size serial = 0;        ///< the thread's count of storages: no other ever has it, unlike an address
  Arena* arena = nullptr;  ///< whose memory it is; null: the pool's
  bool used_before = false;  ///< in an arena: by another tensor
  bool computed = false;   ///< in an arena: its numbers come from a kernel, or are bound anew in each replay

  static constexpr std::size_t header_bytes = 64, first_look_bytes = 192;
  static constexpr std::size_t data_offset = header_bytes + first_look_bytes;

  void* first_look() { return reinterpret_cast<unsigned char*>(this) + header_bytes; }
  void* data() { return reinterpret_cast<unsigned char*>(this) + data_offset; }
};
static_assert(sizeof(Storage) <= Storage::header_bytes && Storage::data_offset % block_alignment == 0);
void destroy(Storage* storage) noexcept;
/// Uninitialised numbers. ShapeError when the byte count overflows.
Ref<Storage> new_storage(Size elements, DType dtype);

/// What a handle points at: a strided look at a storage, and the node that computed it.
struct TensorImpl : Counted {
  kernels::Array array;
  bool contiguous;
  Ref<Storage> storage;
  Ref<NodeBase> node;  ///< null for a constant

  TensorImpl(void* data, DType dtype, const Shape& shape, const Strides& strides, bool is_contiguous,
             Ref<Storage> numbers)
      : array{data, dtype, shape, strides}, contiguous(is_contiguous), storage(std::move(numbers)) {}
  /// Row-major, over all of the storage.
  TensorImpl(DType dtype, const Shape& shape, Ref<Storage> numbers)
      : array{numbers->data(), dtype, shape, shape}, contiguous(true), storage(std::move(numbers)) {
    make_contiguous(array.strides);
  }
};
static_assert(sizeof(TensorImpl) <= Storage::first_look_bytes);
void destroy(TensorImpl* impl) noexcept;

/// The door through which src/ looks into the public handles.
struct Access {
  static TensorImpl* impl(const Tensor& x) { return static_cast<TensorImpl*>(x.impl_); }
  static Tensor wrap(TensorImpl* owned) { return Tensor(owned); }
  template <class P>
  static auto& cell(P& parameter) {
    return parameter.cell_;
  }
  template <class H>
  static auto& hook(H& handle) {
    return handle.hook_;
  }
};

[[noreturn]] REGARD_API void refuse_empty_handle();
/// The record behind x. GraphError for an empty handle.
inline TensorImpl& impl(const Tensor& x) {
  TensorImpl* const it = Access::impl(x);
  if (!it) refuse_empty_handle();
  return *it;
}
inline const kernels::Array& array(const Tensor& x) { return impl(x).array; }

/// A new Tensor with uninitialised numbers, row-major.
Tensor empty(const Shape& shape, DType dtype);
/// Another look at x's storage, outside any graph. The caller vouches that it stays inside.
Tensor view(const Tensor& x, void* data, const Shape& shape, const Strides& strides);

/// Nobody else holds this handle's record or its numbers: they may be overwritten.
bool is_sole_owner(const Tensor& x);

/// GraphError while a step is recorded if x's numbers change from replay to replay: what is done with them on
/// the way would not be done again.
void require_readable(const Tensor& x, const char* what);
/// GraphError while a step is recorded.
void require_no_capture(const char* what, const char* way_out);

bool has_contiguous_strides(const Shape& shape, const Strides& strides);

}  // namespace regard::detail
