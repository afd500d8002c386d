// One row per elementwise op: its kernel and its rule, with dy the gradient of the output y.
#include <cmath>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "autograd/needs.hpp"
#include "kernels/clamp.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/transcendental.hpp"

namespace regard {
namespace detail {
namespace {

Op unary(const char* name, const kernels::KernelSet& kernel, Rule dx) { return {name, kernel, {dx}}; }

Op binary(const char* name, const kernels::KernelSet& kernel, Rule da, Rule db) {
  return {name, kernel, {da, db}, nullptr, true};
}

Op test(const char* name, const kernels::KernelSet& kernel) {
  return {name, kernel, {}, nullptr, true, DispatchOn::first_input};
}

// The dtype both inputs share. Numbers of different dtypes never mix silently.
Tensor elementwise(const Op& op, const Tensor& a, const Tensor& b) {
  const kernels::Array &of_a = array(a), &of_b = array(b);
  if (of_a.dtype != of_b.dtype)
    throw DTypeError(std::string(op.name) + ": dtypes " + name(a.dtype()) + " " + to_string(a.shape()) + " and " +
                     name(b.dtype()) + " " + to_string(b.shape()) + " do not go together; convert one with .to()");
  const DType dtype = op.dispatch_on == DispatchOn::output ? of_a.dtype : boolean;
  if (of_a.shape == of_b.shape) return apply(op, {a, b}, of_a.shape, dtype);
  return apply(op, {a, b}, broadcast_shapes(of_a.shape, of_b.shape, op.name), dtype);
}

Tensor elementwise(const Op& op, const Tensor& x) {
  const kernels::Array& of_x = array(x);
  return apply(op, {x}, of_x.shape, op.dispatch_on == DispatchOn::output ? of_x.dtype : boolean);
}

Tensor zero_where(const Tensor& condition, const Tensor& x) { return masked_fill(x, condition, 0.0); }

Tensor power_da(const Vjp& at) {
  const Tensor &a = at.x(0), &b = at.x(1);
  const Tensor zero = scalar(0, b.dtype());
  // a^(b-1) is infinite at a = 0 for b = 0, where the derivative of the constant 1 is 0. Kept away from both sides of
  // the power, or the second derivative would meet the infinity.
  const Tensor steep = logical_not(isfinite(power(a.detach(), b.detach() - 1.0)));
  const Tensor flat = logical_and(equal(b, zero), steep);
  const Tensor slope = zero_where(flat, power(a, where(flat, zero, b - 1.0)));
  return at.dy * b * slope;
}

Tensor power_db(const Vjp& at) {
  const Tensor &a = at.x(0), &b = at.x(1);
  const Tensor zero = scalar(0, a.dtype());
  const Tensor flat = logical_and(equal(a, zero), greater_equal(b, zero));
  // where() on both sides of the logarithm: its infinite value at 0 must not meet the 0 of the gradient.
  const Tensor safe = where(flat, ones_like(at.y.detach()), a);
  return zero_where(flat, at.dy * at.y * log(safe));
}

Tensor clamp_dx(const Vjp& at) {
  const auto bound = [&](double value) { return scalar(value, at.x().dtype()); };
  const kernels::Bounds& bounds = at.get<kernels::Bounds>();
  return zero_where(logical_or(less(at.x(), bound(bounds.low)), greater(at.x(), bound(bounds.high))), at.dy);
}

// Where x = 0 and y <= 0 the function is set to 0, and so is every derivative. Something must stand in for y there: its
// logarithm and its inverse must not be met on the way.
Tensor xlogy_safe_y(const Vjp& at, double stand_in) {
  const Tensor zero = scalar(0, at.x().dtype());
  const Tensor flat = logical_and(equal(at.x(0), zero), less_equal(at.x(1), zero));
  return where(flat, scalar(stand_in, at.x().dtype()), at.x(1));
}

// A tie gives each side half.
Tensor share_of_max(const Tensor& a, const Tensor& b);

Tensor masked_fill_dx(const Vjp& at) { return masked_fill(at.dy, at.x(1), 0.0); }
Tensor where_da(const Vjp& at) { return where(at.x(0), at.dy, scalar(0, at.dy.dtype())); }
Tensor where_db(const Vjp& at) { return where(at.x(0), scalar(0, at.dy.dtype()), at.dy); }

Tensor gelu_exact_dx(const Vjp& at);
Tensor gelu_tanh_dx(const Vjp& at);
Tensor gelu_tanh_slope_dx(const Vjp& at);
Tensor normal_pdf(const Tensor& x);
Tensor unit_step(const Tensor& x);

// clang-format off
//                               kernel             dL/dx
const Op negate_op   = unary("negate",   kernels::negate,   [](const Vjp& at) { return negate(at.dy); });
const Op square_op   = unary("square",   kernels::square,   [](const Vjp& at) { return at.dy * (at.x() * 2.0); });
const Op exp_op      = unary("exp",      kernels::exp,      [](const Vjp& at) { return at.dy * at.y; });
const Op log_op      = unary("log",      kernels::log,      [](const Vjp& at) { return at.dy / at.x(); });
const Op sqrt_op     = unary("sqrt",     kernels::sqrt,     [](const Vjp& at) { return at.dy / (at.y * 2.0); });
const Op abs_op      = unary("abs",      kernels::abs,      [](const Vjp& at) { return at.dy * sign(at.x()); });
const Op sign_op     = unary("sign",     kernels::sign,     [](const Vjp& at) { return zeros_like(at.dy); });
const Op tanh_op     = unary("tanh",     kernels::tanh,     [](const Vjp& at) { return at.dy * (1.0 - square(at.y)); });
const Op sigmoid_op  = unary("sigmoid",  kernels::sigmoid,  [](const Vjp& at) { return at.dy * (at.y * (1.0 - at.y)); });
const Op relu_op     = unary("relu",     kernels::relu,     [](const Vjp& at) { return at.dy * unit_step(at.x()); });
const Op softplus_op = unary("softplus", kernels::softplus, [](const Vjp& at) { return at.dy * sigmoid(at.x()); });
const Op log1p_op    = unary("log1p",    kernels::log1p,    [](const Vjp& at) { return at.dy / (at.x() + 1.0); });
const Op expm1_op    = unary("expm1",    kernels::expm1,    [](const Vjp& at) { return at.dy * exp(at.x()); });
const Op sin_op      = unary("sin",      kernels::sin,      [](const Vjp& at) { return at.dy * cos(at.x()); });
const Op cos_op      = unary("cos",      kernels::cos,      [](const Vjp& at) { return negate(at.dy * sin(at.x())); });
const Op erf_op      = unary("erf",      kernels::erf,      [](const Vjp& at) { return at.dy * (exp(negate(square(at.x()))) * 1.12837916709551257390); });
const Op silu_op     = unary("silu",     kernels::silu,     [](const Vjp& at) { return at.dy * (sigmoid(at.x()) * (at.x() * sigmoid(negate(at.x())) + 1.0)); });
const Op log_sigmoid_op   = unary("log_sigmoid",   kernels::log_sigmoid,   [](const Vjp& at) { return at.dy * sigmoid(negate(at.x())); });
const Op clamp_op         = unary("clamp",         kernels::clamp,         clamp_dx);
const Op unit_step_op     = unary("unit_step",     kernels::unit_step,     [](const Vjp& at) { return zeros_like(at.dy); });
const Op gelu_exact_op = unary("gelu",      kernels::gelu_exact, gelu_exact_dx);
const Op gelu_tanh_op  = unary("gelu_tanh", kernels::gelu_tanh,  gelu_tanh_dx);
const Op gelu_slope_op = unary("gelu_slope", kernels::gelu_slope, [](const Vjp& at) { return at.dy * normal_pdf(at.x()) * (2.0 - square(at.x())); });
const Op gelu_tanh_slope_op = unary("gelu_tanh_slope", kernels::gelu_tanh_slope, gelu_tanh_slope_dx);
const Op normal_pdf_op = unary("normal_pdf", kernels::normal_pdf, [](const Vjp& at) { return negate(at.dy * at.x() * at.y); });

const Op add_record     = binary("add",      kernels::add,      [](const Vjp& at) { return at.dy; },
                                                                [](const Vjp& at) { return at.dy; });
const Op subtract_op    = binary("subtract", kernels::subtract, [](const Vjp& at) { return at.dy; },
                                                                [](const Vjp& at) { return negate(at.dy); });
const Op multiply_op    = binary("multiply", kernels::multiply, [](const Vjp& at) { return at.dy * at.x(1); },
                                                                [](const Vjp& at) { return at.dy * at.x(0); });
const Op divide_op      = binary("divide",   kernels::divide,   [](const Vjp& at) { return at.dy / at.x(1); },
                                                                [](const Vjp& at) { return negate(at.dy * at.y / at.x(1)); });
const Op power_op       = binary("power",    kernels::power,    power_da, power_db);
const Op maximum_op     = binary("maximum",  kernels::maximum,  [](const Vjp& at) { return at.dy * share_of_max(at.x(0), at.x(1)); },
                                                                [](const Vjp& at) { return at.dy * share_of_max(at.x(1), at.x(0)); });
const Op minimum_op     = binary("minimum",  kernels::minimum,  [](const Vjp& at) { return at.dy * share_of_max(at.x(1), at.x(0)); },
                                                                [](const Vjp& at) { return at.dy * share_of_max(at.x(0), at.x(1)); });
const Op xlogy_op       = binary("xlogy",    kernels::xlogy,    [](const Vjp& at) { return xlogy(at.dy, xlogy_safe_y(at, 1)); },
                                                                [](const Vjp& at) { return at.dy * at.x(0) / xlogy_safe_y(at, HUGE_VAL); });
const Op share_of_max_op = binary("share_of_max", kernels::share_of_max, nullptr, nullptr);

const Op equal_op         = test("equal",         kernels::equal);
const Op not_equal_op     = test("not_equal",     kernels::not_equal);
const Op less_op          = test("less",          kernels::less);
const Op less_equal_op    = test("less_equal",    kernels::less_equal);
const Op greater_op       = test("greater",       kernels::greater);
const Op greater_equal_op = test("greater_equal", kernels::greater_equal);
const Op logical_and_op   = test("logical_and",   kernels::logical_and);
const Op logical_or_op    = test("logical_or",    kernels::logical_or);
const Op logical_not_op   = test("logical_not",   kernels::logical_not);
const Op isfinite_op      = test("isfinite",      kernels::isfinite);
const Op isnan_op         = test("isnan",         kernels::isnan);

const Op add_scalar_op      = unary("add_scalar",      kernels::add_scalar,      [](const Vjp& at) { return at.dy; });
const Op multiply_scalar_op = unary("multiply_scalar", kernels::multiply_scalar, [](const Vjp& at) { return at.dy * at.get<double>(); });
const Op power_scalar_op    = unary("power",           kernels::power_scalar,    [](const Vjp& at) {
  const double exponent = at.get<double>();
  return exponent == 0 ? zeros_like(at.dy) : at.dy * (power(at.x(), exponent - 1) * exponent);
});

const Op where_op       = {"where",       kernels::where,       {nullptr, where_da, where_db}, nullptr, true};
const Op masked_fill_op = {"masked_fill", kernels::masked_fill, {masked_fill_dx}, nullptr, true};
const Op cast_op        = {"to",          kernels::cast,        {[](const Vjp& at) { return at.dy.to(at.x().dtype()); }}};
const Op copy_op        = {"contiguous",  kernels::copy,        {[](const Vjp& at) { return at.dy; }}};
// clang-format on

Tensor share_of_max(const Tensor& a, const Tensor& b) { return elementwise(share_of_max_op, a, b); }
Tensor normal_pdf(const Tensor& x) { return elementwise(normal_pdf_op, x); }
Tensor unit_step(const Tensor& x) { return elementwise(unit_step_op, x); }

// d(x·Φ(x)) = Φ(x) + x·φ(x)
Tensor gelu_exact_dx(const Vjp& at) {
  return at.dy * elementwise(gelu_slope_op, at.x());
}

Tensor gelu_tanh_dx(const Vjp& at) {
  return at.dy * elementwise(gelu_tanh_slope_op, at.x());
}

// With u = c·(x + k·x³) and t = tanh u: d(x/2·(1 + t)) = (1 + t)/2 + x/2·(1 - t²)·u', of which the slope is
// (1 - t²)·(u' + x/2·(u'' - 2t·u'²)).
Tensor gelu_tanh_slope_dx(const Vjp& at) {
  constexpr double c = 0.79788456080286535588, k = 0.044715;
  const Tensor& x = at.x();
  const Tensor t = tanh((x + power(x, 3) * k) * c);
  const Tensor slope = (square(x) * (3 * k) + 1.0) * c, curve = x * (6 * c * k);
  return at.dy * ((1.0 - square(t)) * (slope + (x * 0.5) * (curve - t * square(slope) * 2.0)));
}

// A number takes the tensor's dtype; what int64 would cut off is refused.
void require_number_fits(const char* op, const Tensor& x, double value) {
  if (x.dtype() != int64 || (std::trunc(value) == value && std::abs(value) < 9223372036854775808.0)) return;  // 2^63
  throw DTypeError(std::string(op) + ": " + to_string(scalar(value)) + " is no whole number, but the tensor int64 " +
                   to_string(x.shape()) + " holds only such (of 63 bits); convert it with .to(float64)");
}

void require_fits_int64(const Tensor& x) {
  const double limit = 9223372036854775808.0;  // 2^63
  const Tensor inside = logical_and(greater_equal(x, scalar(-limit, x.dtype())), less(x, scalar(limit, x.dtype())));
  if (!all(inside))
    throw ValueError(std::string("to: a value of the ") + name(x.dtype()) + " tensor " + to_string(x.shape()) +
                     " is NaN or does not fit int64");
}

}  // namespace

const Op& add_op() { return add_record; }

}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor add(const Tensor& a, const Tensor& b) { return elementwise(add_record, a, b); }
Tensor subtract(const Tensor& a, const Tensor& b) { return elementwise(subtract_op, a, b); }
Tensor multiply(const Tensor& a, const Tensor& b) { return elementwise(multiply_op, a, b); }
Tensor divide(const Tensor& a, const Tensor& b) { return elementwise(divide_op, a, b); }
Tensor power(const Tensor& a, const Tensor& b) { return elementwise(power_op, a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) { return elementwise(maximum_op, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return elementwise(minimum_op, a, b); }

Tensor xlogy(const Tensor& x, const Tensor& y) { return elementwise(xlogy_op, x, y); }

Tensor negate(const Tensor& x) { return elementwise(negate_op, x); }
Tensor square(const Tensor& x) { return elementwise(square_op, x); }
Tensor exp(const Tensor& x) { return elementwise(exp_op, x); }
Tensor log(const Tensor& x) { return elementwise(log_op, x); }
Tensor sqrt(const Tensor& x) { return elementwise(sqrt_op, x); }
Tensor abs(const Tensor& x) { return elementwise(abs_op, x); }
Tensor sign(const Tensor& x) { return elementwise(sign_op, x); }
Tensor tanh(const Tensor& x) { return elementwise(tanh_op, x); }
Tensor sigmoid(const Tensor& x) { return elementwise(sigmoid_op, x); }
Tensor relu(const Tensor& x) { return elementwise(relu_op, x); }
Tensor softplus(const Tensor& x) { return elementwise(softplus_op, x); }
Tensor log1p(const Tensor& x) { return elementwise(log1p_op, x); }
Tensor expm1(const Tensor& x) { return elementwise(expm1_op, x); }
Tensor sin(const Tensor& x) { return elementwise(sin_op, x); }
Tensor cos(const Tensor& x) { return elementwise(cos_op, x); }
Tensor erf(const Tensor& x) { return elementwise(erf_op, x); }
Tensor silu(const Tensor& x) { return elementwise(silu_op, x); }
Tensor log_sigmoid(const Tensor& x) { return elementwise(log_sigmoid_op, x); }
Tensor gelu(const Tensor& x, Gelu form) {
  return elementwise(form == Gelu::exact ? gelu_exact_op : gelu_tanh_op, x);
}

Tensor equal(const Tensor& a, const Tensor& b) { return elementwise(equal_op, a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return elementwise(not_equal_op, a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return elementwise(less_op, a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return elementwise(less_equal_op, a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return elementwise(greater_op, a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return elementwise(greater_equal_op, a, b); }
Tensor logical_and(const Tensor& a, const Tensor& b) { return elementwise(logical_and_op, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return elementwise(logical_or_op, a, b); }
Tensor logical_not(const Tensor& x) { return elementwise(logical_not_op, x); }
Tensor isfinite(const Tensor& x) { return elementwise(isfinite_op, x); }
Tensor isnan(const Tensor& x) { return elementwise(isnan_op, x); }

Tensor add(const Tensor& a, double b) {
  require_number_fits("add", a, b);
  return apply(add_scalar_op, {a}, a.shape(), a.dtype(), b);
}
Tensor multiply(const Tensor& a, double b) {
  require_number_fits("multiply", a, b);
  return apply(multiply_scalar_op, {a}, a.shape(), a.dtype(), b);
}
Tensor clamp(const Tensor& x, std::optional<double> min, std::optional<double> max) {
  const kernels::Bounds bounds{min.value_or(-HUGE_VAL), max.value_or(HUGE_VAL)};
  for (const double bound : {bounds.low, bounds.high}) {
    if (std::isnan(bound)) throw ValueError("clamp: a bound is NaN; leave it out (std::nullopt) for none");
    if (!std::isinf(bound)) require_number_fits("clamp", x, bound);
  }
  return apply(clamp_op, {x}, x.shape(), x.dtype(), bounds);
}
Tensor power(const Tensor& a, double exponent) { return apply(power_scalar_op, {a}, a.shape(), a.dtype(), exponent); }

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  require_dtype("where", "the condition", condition, boolean);
  if (a.dtype() != b.dtype())
    throw DTypeError(std::string("where: dtypes ") + name(a.dtype()) + " " + to_string(a.shape()) + " and " +
                     name(b.dtype()) + " " + to_string(b.shape()) + " do not go together; convert one with .to()");
  const Shape shape = broadcast_shapes(condition.shape(), broadcast_shapes(a.shape(), b.shape(), "where"), "where");
  return apply(where_op, {condition, a, b}, shape, a.dtype());
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  require_dtype("masked_fill", "the mask", mask, boolean);
  if (broadcast_shapes(x.shape(), mask.shape(), "masked_fill") != x.shape())
    throw ShapeError("masked_fill: mask " + to_string(mask.shape()) + " does not fit x " + to_string(x.shape()) +
                     "; it must broadcast to x, not the other way round");
  require_number_fits("masked_fill", x, value);
  return apply(masked_fill_op, {x, mask}, x.shape(), x.dtype(), value);
}

Tensor Tensor::to(DType wanted) const {
  if (dtype() == wanted) return unchanged(*this);
  if (wanted == int64 && is_float(dtype())) require_fits_int64(*this);
  return apply(cast_op, {*this}, shape(), wanted);
}

Tensor Tensor::contiguous() const {
  if (is_contiguous()) return unchanged(*this);
  return apply(copy_op, {*this}, shape(), dtype());
}

}  // namespace regard
