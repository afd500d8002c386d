// How an operation runs: a kernel on arrays, and a node if anyone needs a gradient.
#pragma once

#include <initializer_list>

#include "autograd/node.hpp"
#include "autograd/op.hpp"

namespace regard::detail {

/// Runs the op's kernel. The one door through which numbers are computed: forward, backward and optimisers alike.
/// The outputs must be defined and are written.
void execute(const Op& op, const Tensor* inputs, int input_count, Tensor* outputs, int output_count,
             const Attributes& attributes = {});

/// y = op(inputs): a new Tensor of that shape and dtype, recorded if an input requires a gradient.
Tensor apply(const Op& op, const Tensor* inputs, int input_count, const Shape& shape, DType dtype,
             const Attributes& attributes = {});
Tensor apply(const Op& op, std::initializer_list<Tensor> inputs, const Shape& shape, DType dtype,
             const Attributes& attributes = {});

/// A view: no kernel runs. `y` is a look at x's storage made with view().
Tensor apply_view(const Op& op, const Tensor& x, Tensor y, const Attributes& attributes = {});

/// x, for an op that has nothing to do; outside the graph while recording is off, as any result is then.
Tensor unchanged(const Tensor& x);

/// Gives y its place in the graph, if recording is on, y is float and an input requires a gradient.
Tensor record(const Op& op, const Tensor* inputs, int input_count, Tensor y, const Attributes& attributes);

/// One float dtype for all: DTypeError names the op and both otherwise.
DType common_float_dtype(const char* op, const Tensor& a, const Tensor& b);
/// float32 or float64: DTypeError names the op otherwise.
DType require_float(const char* op, const Tensor& x);
void require_dtype(const char* op, const char* what, const Tensor& x, DType dtype);

}  // namespace regard::detail
