#include "ops/rotate.hpp"

#include "autograd/apply.hpp"

namespace regard::detail {
namespace {

Tensor rotate_dx(const Vjp& at) {
  kernels::Rotation back = at.get<kernels::Rotation>();
  back.sense = -back.sense;
  return rotate(at.dy, at.x(1), back);
}

const Op rotate_op = {"rotate", kernels::rotate, {rotate_dx}};

}  // namespace

Tensor rotate(const Tensor& x, const Tensor& positions, const kernels::Rotation& rotation) {
  return apply(rotate_op, {x, positions}, x.shape(), x.dtype(), rotation);
}

}  // namespace regard::detail
