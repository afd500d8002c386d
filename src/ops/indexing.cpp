#include "kernels/indexing.hpp"

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "autograd/host_step.hpp"

namespace regard {
namespace detail {
namespace {

using kernels::Lookup;

// dy's rows added up where ids say: the adjoint of take, and take is its adjoint.
Tensor take_backward(const Tensor& dy, const Tensor& ids, const Shape& shape, const Lookup& lookup);

const Op take_op = {"take", kernels::take, {[](const Vjp& at) {
                      return take_backward(at.dy, at.x(1), at.x(0).shape(), at.get<Lookup>());
                    }}};
const Op take_backward_op = {"take_backward", kernels::take_backward, {[](const Vjp& at) {
                               return take(at.dy, at.x(1), at.get<Lookup>().axis);
                             }}};
const Op gather_op = {"gather", kernels::gather, {[](const Vjp& at) {
                        return scatter_add(zeros(at.x(0).shape(), at.dy.dtype()), at.x(1), at.dy,
                                           at.get<Lookup>().axis);
                      }}};
const Op scatter_add_op = {"scatter_add",
                           kernels::scatter_add,
                           {[](const Vjp& at) { return at.dy; }, nullptr,
                            [](const Vjp& at) { return gather(at.dy, at.x(1), at.get<Lookup>().axis); }}};
const Op one_hot_op = {"one_hot", kernels::one_hot};

Tensor take_backward(const Tensor& dy, const Tensor& ids, const Shape& shape, const Lookup& lookup) {
  return apply(take_backward_op, {dy.contiguous(), ids}, shape, dy.dtype(), lookup);
}

// Row-major ids, each of them in 0..extent - 1. of() says of what, for the error message.
template <class Of>
Tensor checked_ids(const char* op, const Tensor& ids, Size extent, Of of) {
  require_dtype(op, "ids", ids, int64);
  const Tensor row_major = ids.contiguous();
  host_step([=] {
    Size place = kernels::first_outside(array(row_major), extent);
    if (place < 0) return;
    const Size id = array(row_major).as<Size>()[place];
    const Shape& shape = row_major.shape();
    Sizes position = Sizes::filled(shape.rank(), 0);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      position[axis] = place % shape[axis];
      place /= shape[axis];
    }
    throw ValueError(std::string(op) + ": id " + std::to_string(id) + " at position " + to_string(position) +
                     " of ids " + to_string(shape) + " is out of range for " + of() + "; " +
                     (extent == 0 ? std::string("there is nothing to index")
                                  : "expected 0 to " + std::to_string(extent - 1)));
  });
  return row_major;
}

Tensor checked_ids(const char* op, const Tensor& ids, const Tensor& x, int axis) {
  return checked_ids(op, ids, x.shape()[axis],
                     [axis, shape = x.shape()] { return "axis " + std::to_string(axis) + " of " + to_string(shape); });
}

// Ids of x's rank that reach no further than x on the axes they do not index.
void require_under(const char* op, const Tensor& x, const Tensor& ids, int axis) {
  bool fits = ids.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == axis || ids.shape()[i] <= x.shape()[i];
  if (!fits)
    throw ShapeError(
        std::string(op) + ": ids " + to_string(ids.shape()) + " do not fit x " + to_string(x.shape()) +
        "; expected the same rank, and no larger extent than x's but on axis " + std::to_string(axis));
}

}  // namespace
}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor take(const Tensor& x, const Tensor& ids, int axis) {
  const int at = normalize_axis(axis, x.rank(), "take");
  const Tensor checked = checked_ids("take", ids, x, at);
  if (x.rank() - 1 + ids.rank() > max_rank)
    throw ShapeError("take: x " + to_string(x.shape()) + " and ids " + to_string(ids.shape()) +
                     " would make more than " + std::to_string(max_rank) + " axes");
  Shape shape;
  for (int i = 0; i < at; ++i) shape.push_back(x.shape()[i]);
  for (const Size extent : ids.shape()) shape.push_back(extent);
  for (int i = at + 1; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
  return apply(take_op, {x.contiguous(), checked}, shape, x.dtype(), Lookup{at, x.shape()[at]});
}

Tensor gather(const Tensor& x, const Tensor& ids, int axis) {
  const int at = normalize_axis(axis, x.rank(), "gather");
  require_under("gather", x, ids, at);
  const Tensor checked = checked_ids("gather", ids, x, at);
  return apply(gather_op, {x, checked}, ids.shape(), x.dtype(), Lookup{at, x.shape()[at]});
}

Tensor scatter_add(const Tensor& x, const Tensor& ids, const Tensor& updates, int axis) {
  const int at = normalize_axis(axis, x.rank(), "scatter_add");
  if (x.dtype() != updates.dtype())
    throw DTypeError(std::string("scatter_add: x is ") + name(x.dtype()) + " but the updates are " +
                     name(updates.dtype()) + "; convert one with .to()");
  require_under("scatter_add", x, ids, at);
  if (updates.shape() != ids.shape())
    throw ShapeError("scatter_add: updates " + to_string(updates.shape()) + " and ids " +
                     to_string(ids.shape()) + " must have the same shape");
  const Tensor checked = checked_ids("scatter_add", ids, x, at);
  return apply(scatter_add_op, {x, checked, updates}, x.shape(), x.dtype(), Lookup{at, x.shape()[at]});
}

Tensor one_hot(const Tensor& ids, Size classes, DType dtype) {
  if (classes < 0)
    throw ValueError("one_hot: expected a number of classes from 0 on, got " + std::to_string(classes));
  const Tensor checked = checked_ids("one_hot", ids, classes, [classes] { return std::to_string(classes) + " classes"; });
  Shape shape = ids.shape();
  shape.push_back(classes);
  return apply(one_hot_op, {checked}, shape, dtype);
}

}  // namespace regard
