// What a kernel sees: raw pointers, shapes and strides. Kernels know nothing of tensors or gradients.
#pragma once

#include <regard/dtype.hpp>
#include <regard/shape.hpp>

namespace regard::kernels {

/// A strided array; `data` points at its first element. Strides are in elements.
struct Array {
  void* data = nullptr;
  DType dtype = DType::float64;
  Shape shape;
  Strides strides;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// One run of a kernel: inputs are only read. An output may share its memory with an input only where the kernel
/// says so (elementwise kernels do, for the same shape and strides).
struct Call {
  const Array* const* inputs = nullptr;
  int input_count = 0;
  Array* const* outputs = nullptr;
  int output_count = 0;
  const void* attributes = nullptr;  ///< the op's plain attribute block

  const Array& in(int i) const { return *inputs[i]; }
  Array& out(int i = 0) const { return *outputs[i]; }
  /// The attribute block as the struct that the op put there.
  template <class T>
  const T& get() const {
    return *static_cast<const T*>(attributes);
  }
};

using Kernel = void (*)(const Call&);

/// A kernel that takes one array to another, outside of any op.
inline void run(Kernel kernel, const Array& from, Array& to) {
  const Array* const inputs[] = {&from};
  Array* const outputs[] = {&to};
  kernel({inputs, 1, outputs, 1, nullptr});
}

/// One kernel per element type; a null entry means the op does not take that dtype.
struct KernelSet {
  Kernel f32 = nullptr;
  Kernel f64 = nullptr;
  Kernel i64 = nullptr;
  Kernel bool8 = nullptr;

  Kernel operator[](DType dtype) const {
    switch (dtype) {
      case DType::float32: return f32;
      case DType::float64: return f64;
      case DType::int64: return i64;
      case DType::boolean: return bool8;
    }
    return nullptr;
  }
};

}  // namespace regard::kernels
