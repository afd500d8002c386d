#include "autograd/apply.hpp"

#include <new>

#include "autograd/observer.hpp"

namespace regard::detail {
namespace {

/// Room for what a kernel is called with: for `few` arrays, or more.
struct Room {
  static constexpr int few = 6;

  const kernels::Array** in;
  kernels::Array** out;
  kernels::Array* stretched;  ///< not initialised, for as many as `in`
};

// The array stretched to `shape` by strides of 0.
kernels::Array stretch(const kernels::Array& array, const Shape& shape) {
  kernels::Array out{array.data, array.dtype, shape, Sizes::filled(shape.rank(), 0)};
  const int extra = shape.rank() - array.shape.rank();
  for (int axis = 0; axis < array.shape.rank(); ++axis)
    if (array.shape[axis] != 1) out.strides[axis + extra] = array.strides[axis];
  return out;
}

bool any_requires_grad(const Op& op, const Tensor* inputs, int count) {
  for (int i = 0; i < count; ++i)
    if (has_node(inputs[i]) && op.has_rule(i)) return true;
  return false;
}

[[noreturn]] void refuse_dtype(const Op& op, DType dtype) {
  throw DTypeError(std::string(op.name) + ": not defined for " + name(dtype) + "; convert with .to()");
}

void execute_in(const Room& room, const Op& op, const Tensor* inputs, int input_count, const Tensor* outputs,
                int output_count, const Attributes& attributes) {
  static const kernels::Array left_out;
  for (int i = 0; i < output_count; ++i) room.out[i] = &impl(outputs[i]).array;
  for (int i = 0; i < input_count; ++i)
    room.in[i] = inputs[i].defined() ? &Access::impl(inputs[i])->array : &left_out;
  if (op.broadcasts) {
    const Shape& full = room.out[0]->shape;
    for (int i = 0; i < input_count; ++i)
      if (room.in[i]->data && room.in[i]->shape != full)
        room.in[i] = new (room.stretched + i) kernels::Array(stretch(*room.in[i], full));
  }
  const DType dtype = (op.dispatch_on == DispatchOn::output ? room.out[0] : room.in[0])->dtype;
  const kernels::Kernel kernel = op.kernels[dtype];
  if (!kernel) refuse_dtype(op, dtype);
  const kernels::Call call{room.in, input_count, room.out, output_count, attributes.data()};
  if (!context().observer) return kernel(call);
  const Run run{op.name, inputs, input_count, outputs, output_count, attributes, kernel, &call};
  Observers::tell([&run](Observer& observer) { observer.before(run); });
  kernel(call);
  Observers::tell([&run](Observer& observer) { observer.after(run); });
}

}  // namespace

void execute(const Op& op, const Tensor* inputs, int input_count, Tensor* outputs, int output_count,
             const Attributes& attributes) {
  const auto run = [&](const Room& room) {
    execute_in(room, op, inputs, input_count, outputs, output_count, attributes);
  };
  if (input_count <= Room::few && output_count <= Room::few) {
    const kernels::Array* in[Room::few];
    kernels::Array* out[Room::few];
    alignas(kernels::Array) unsigned char stretched[Room::few * sizeof(kernels::Array)];
    return run({in, out, reinterpret_cast<kernels::Array*>(stretched)});
  }
  const PoolArray<const kernels::Array*> in(static_cast<std::size_t>(input_count));
  const PoolArray<kernels::Array*> out(static_cast<std::size_t>(output_count));
  const PoolArray<kernels::Array> stretched(static_cast<std::size_t>(op.broadcasts ? input_count : 0));
  run({in.data(), out.data(), stretched.data()});
}

Tensor apply(const Op& op, const Tensor* inputs, int input_count, const Shape& shape, DType dtype,
             const Attributes& attributes) {
  Tensor y = empty(shape, dtype);
  execute(op, inputs, input_count, &y, 1, attributes);
  return record(op, inputs, input_count, std::move(y), attributes);
}

Tensor apply(const Op& op, std::initializer_list<Tensor> inputs, const Shape& shape, DType dtype,
             const Attributes& attributes) {
  return apply(op, inputs.begin(), static_cast<int>(inputs.size()), shape, dtype, attributes);
}

Tensor apply_view(const Op& op, const Tensor& x, Tensor y, const Attributes& attributes) {
  Observers::tell([&](Observer& observer) { observer.viewed({op.name, &x, 1, &y, 1, attributes}); });
  return record(op, &x, 1, std::move(y), attributes);
}

Tensor unchanged(const Tensor& x) { return context().recording ? x : x.detach(); }

Tensor record(const Op& op, const Tensor* inputs, int input_count, Tensor y, const Attributes& attributes) {
  if (!context().recording || !is_float(y.dtype()) || !any_requires_grad(op, inputs, input_count)) return y;
  Ref<Node> node = new_node();
  node->op = &op;
  node->attributes = attributes;
  node->set_inputs(inputs, input_count);
#ifndef NDEBUG
  for (int i = 0; i < input_count; ++i)
    if (has_node(inputs[i])) check_thread(*node_of(inputs[i]), op.name);
#endif
  impl(y).node = std::move(node);
  Observers::tell([](Observer& observer) { observer.recorded(); });
  return y;
}

DType require_float(const char* op, const Tensor& x) {
  if (!is_float(x.dtype()))
    throw DTypeError(std::string(op) + ": expected float32 or float64, got " + name(x.dtype()) + " " +
                     to_string(x.shape()) + "; convert with .to(float64)");
  return x.dtype();
}

DType common_float_dtype(const char* op, const Tensor& a, const Tensor& b) {
  require_float(op, a);
  require_float(op, b);
  if (a.dtype() != b.dtype())
    throw DTypeError(std::string(op) + ": dtypes " + name(a.dtype()) + " " + to_string(a.shape()) + " and " +
                     name(b.dtype()) + " " + to_string(b.shape()) + " do not go together; convert one with .to()");
  return a.dtype();
}

void require_dtype(const char* op, const char* what, const Tensor& x, DType dtype) {
  if (x.dtype() != dtype)
    throw DTypeError(std::string(op) + ": " + what + " must be " + name(dtype) + ", got " + name(x.dtype()) + " " +
                     to_string(x.shape()) + "; convert with .to(" + name(dtype) + ")");
}

}  // namespace regard::detail
