// Every differentiable function, one prototype each, and the few that have no gradient.
//
// All follow NumPy's broadcasting where they take several tensors. Floats of one dtype go together; mixing
// float32 and float64 is a DTypeError that names both (use .to()). A plain number takes the tensor's dtype
// (DTypeError for a fraction and an int64 tensor).
// Negative axes count from the end. Every rule is itself differentiable, to any order.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <regard/export.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {

// ---- elementwise, two inputs ---------------------------------------------------------------------------

/// a + b, a - b and a·b. Gradients dy and dy, dy and -dy, dy·b and dy·a.
[[nodiscard]] Tensor add(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor subtract(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor multiply(const Tensor& a, const Tensor& b);
/// a / b; for int64 a DTypeError (convert first). Gradient dy / b and -dy·a / b².
[[nodiscard]] Tensor divide(const Tensor& a, const Tensor& b);
/// a^b as std::pow. d/da = b·a^(b-1), 0 where b = 0; d/db = a^b·log a, 0 where a = 0 and b >= 0.
[[nodiscard]] Tensor power(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor power(const Tensor& a, double exponent);
/// The larger; a tie gives each side half of the gradient. NaN in either gives NaN.
[[nodiscard]] Tensor maximum(const Tensor& a, const Tensor& b);
/// The smaller; a tie gives each side half of the gradient. NaN in either gives NaN.
[[nodiscard]] Tensor minimum(const Tensor& a, const Tensor& b);
/// x·log y, and 0 where x = 0 (SciPy's and PyTorch's), unless y is NaN. dx = dy·log y, dy of y is dy·x / y; where x = 0
/// and y <= 0 all derivatives are set to 0, so that p·log p is harmless at p = 0.
[[nodiscard]] Tensor xlogy(const Tensor& x, const Tensor& y);

// ---- elementwise, one input ----------------------------------------------------------------------------

/// -x, x² and e^x. Gradients -dy, 2·dy·x and dy·exp x.
[[nodiscard]] Tensor negate(const Tensor& x);
[[nodiscard]] Tensor square(const Tensor& x);
[[nodiscard]] Tensor exp(const Tensor& x);
/// Natural logarithm; gradient dy / x.
[[nodiscard]] Tensor log(const Tensor& x);
/// Gradient dy / (2·sqrt x); infinite at 0, as the mathematics is. So the root of something whose own slope is 0 there
/// has the gradient inf·0 = NaN: of a sum of squares take norm().
[[nodiscard]] Tensor sqrt(const Tensor& x);
/// |x|, with gradient 0 at 0 (the minimum-norm subgradient).
[[nodiscard]] Tensor abs(const Tensor& x);
/// -1, 0 or 1; its gradient is 0 everywhere.
[[nodiscard]] Tensor sign(const Tensor& x);
[[nodiscard]] Tensor tanh(const Tensor& x);
/// 1 / (1 + exp(-x)), without overflow.
[[nodiscard]] Tensor sigmoid(const Tensor& x);
/// max(x, 0), with gradient 0 at 0.
[[nodiscard]] Tensor relu(const Tensor& x);
/// The two forms of gelu().
enum class Gelu { exact, tanh };
/// Hendrycks & Gimpel 2016: x·Φ(x) with the normal distribution function Φ (exact), or its tanh form
/// 0.5·x·(1 + tanh(sqrt(2/π)·(x + 0.044715·x³))).
[[nodiscard]] Tensor gelu(const Tensor& x, Gelu form = Gelu::exact);
/// log(1 + exp x), without overflow; gradient dy·sigmoid(x).
[[nodiscard]] Tensor softplus(const Tensor& x);
/// x·sigmoid(x) (Elfwing, Uchibe & Doya 2017, also called swish); gradient dy·s·(1 + x·(1 - s)) with s = sigmoid(x).
[[nodiscard]] Tensor silu(const Tensor& x);
/// log(1 / (1 + exp(-x))), without overflow; gradient dy·sigmoid(-x).
[[nodiscard]] Tensor log_sigmoid(const Tensor& x);
/// log(1 + x) and exp(x) - 1, with all digits also near 0. Gradients dy / (1 + x) and dy·exp x.
[[nodiscard]] Tensor log1p(const Tensor& x);
[[nodiscard]] Tensor expm1(const Tensor& x);
/// Of radians. Gradients dy·cos x and -dy·sin x.
[[nodiscard]] Tensor sin(const Tensor& x);
[[nodiscard]] Tensor cos(const Tensor& x);
/// The error function 2/sqrt(π)·∫ exp(-t²) dt from 0 to x; gradient dy·2/sqrt(π)·exp(-x²).
[[nodiscard]] Tensor erf(const Tensor& x);
/// min(max(x, min), max); std::nullopt, or {}, leaves a bound out, and where min > max all become max. The gradient is
/// dy between the bounds and on them (as in PyTorch), 0 beyond. NaN stays NaN. Floats and int64. ValueError for a bound
/// that is NaN.
[[nodiscard]] Tensor clamp(const Tensor& x, std::optional<double> min, std::optional<double> max);

// ---- choosing ------------------------------------------------------------------------------------------

/// condition (boolean) ? a : b. Only the chosen side gets a gradient; the other gets 0. As everywhere, an
/// infinite derivative inside the side not chosen is multiplied by that 0 and gives NaN: choose before the
/// function as well (where(ok, f(where(ok, x, 1)), 0)).
[[nodiscard]] Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// x with `value` wherever `mask` (boolean, broadcast to x) is true; no gradient flows there.
[[nodiscard]] Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

// ---- reductions ----------------------------------------------------------------------------------------

/// Whether a reduced axis stays, with extent 1.
enum class Keep { no, axes };
inline constexpr Keep keep_axes = Keep::axes;

// Named axes are folded away; an empty list names none, and each element is then folded alone. Sums run in a fixed
// order, so that the same numbers give the same bits; blocks of float32 are added up in float64. Shapes and axes that do not
// fit are a ShapeError.

[[nodiscard]] Tensor sum(const Tensor& x);  ///< over all axes, to rank 0; 0 when x is empty. Floats and int64
/// Over the named axes. dx = dy.
[[nodiscard]] Tensor sum(const Tensor& x, const Axes& axes, Keep keep = Keep::no);
[[nodiscard]] Tensor mean(const Tensor& x);  ///< NaN when x is empty, as NumPy
/// Over the named axes. dx = dy / count.
[[nodiscard]] Tensor mean(const Tensor& x, const Axes& axes, Keep keep = Keep::no);
/// Mean squared distance from the mean, divided by (count - correction): 0 is NumPy's default, 1 is PyTorch's. NaN
/// unless count > correction.
[[nodiscard]] Tensor variance(const Tensor& x, const Axes& axes, Keep keep = Keep::no, double correction = 0);
/// Root of the variance, with the same correction. dx = dy·(x - mean) / (y·(count - correction)), and 0 where y = 0:
/// equal numbers get 0, not NaN.
[[nodiscard]] Tensor standard_deviation(const Tensor& x, const Axes& axes, Keep keep = Keep::no, double correction = 0);
/// Euclidean: sqrt Σ x², without overflow; 0 over nothing. dx = dy·x / y, and 0 where y = 0 (the minimum-norm
/// subgradient). With p = 1 Σ |x| (gradient 0 where x = 0), with p = infinity the largest |x| (ties share its gradient).
/// Floats only; ValueError for another p.
[[nodiscard]] Tensor norm(const Tensor& x);
[[nodiscard]] Tensor norm(const Tensor& x, const Axes& axes, Keep keep = Keep::no, double p = 2);
/// Largest; NaN wins. Ties share the gradient equally. ShapeError where there is nothing to choose from. Floats and
/// int64.
[[nodiscard]] Tensor max(const Tensor& x);
[[nodiscard]] Tensor max(const Tensor& x, const Axes& axes, Keep keep = Keep::no);
/// Smallest; otherwise as max.
[[nodiscard]] Tensor min(const Tensor& x);
[[nodiscard]] Tensor min(const Tensor& x, const Axes& axes, Keep keep = Keep::no);
/// Product; 1 over nothing. dx = dy times the product of the others, which is right with zeros among them, as are
/// higher derivatives. Multiplied in pairs. Floats and int64.
[[nodiscard]] Tensor prod(const Tensor& x);
[[nodiscard]] Tensor prod(const Tensor& x, const Axes& axes, Keep keep = Keep::no);
/// -Σ p·log p along an axis, in nats; 0 over nothing. dp = -dy·(log p + 1). A p of 0 adds 0, and all its derivatives are
/// set to 0, where the slope would be infinite. Floats only.
[[nodiscard]] Tensor entropy(const Tensor& p, int axis = -1, Keep keep = Keep::no);
/// y_i = x_0 + ... + x_i along an axis; the same shape. Added up in float64. The gradient is the same sum of dy from the
/// other end. Floats and int64.
[[nodiscard]] Tensor cumsum(const Tensor& x, int axis = -1);
/// log Σ exp x, without overflow; -inf over nothing and over all -inf. Gradient dy·softmax(x), 0 where all are -inf.
[[nodiscard]] Tensor logsumexp(const Tensor& x, const Axes& axes, Keep keep = Keep::no);
/// Adds up the axes that broadcasting `shape` to x's shape stretched: the adjoint of broadcast_to. x itself when it
/// has that shape. ShapeError when `shape` does not broadcast to x's.
[[nodiscard]] Tensor sum_to(const Tensor& x, const Shape& shape);

// ---- softmax -------------------------------------------------------------------------------------------

// Along one axis of any extent. Invariant to a shift of x along it. NaN makes its whole line NaN, and so does +inf.

/// exp(x - max) / Σ. dx = y·(dy - Σ y·dy). A line of nothing but -inf is NaN, as in NumPy and PyTorch.
[[nodiscard]] Tensor softmax(const Tensor& x, int axis = -1);
/// The same over the elements where `keep` (boolean, broadcast to x) is true; the rest are exactly 0 and get
/// exactly 0, whatever x and dy hold there. A line that keeps nothing, or nothing but -inf, is all 0 and gets 0.
[[nodiscard]] Tensor softmax(const Tensor& x, const Tensor& keep, int axis = -1);
/// x - logsumexp(x). dx = dy - softmax(x)·Σ dy.
[[nodiscard]] Tensor log_softmax(const Tensor& x, int axis = -1);
/// The same over the elements that are kept; the rest are -inf and get gradient 0. A line that keeps nothing, or
/// nothing but -inf, is all -inf and gets 0.
[[nodiscard]] Tensor log_softmax(const Tensor& x, const Tensor& keep, int axis = -1);
/// exp x / (1 + Σ exp x), Miller 2023: softmax beside a score of 0 that takes part and is left out, so that a line may
/// give less than 1 in all. A shift of x changes it. dx = y·(dy - Σ y·dy). A line of nothing but -inf is 0.
[[nodiscard]] Tensor softmax1(const Tensor& x, int axis = -1);
/// The same over the elements that are kept; the rest as in softmax.
[[nodiscard]] Tensor softmax1(const Tensor& x, const Tensor& keep, int axis = -1);
/// The nearest point to x with y >= 0 and Σ y = 1, Martins & Astudillo 2016: max(x - τ, 0), exact by sorting; most of a
/// line becomes exactly 0. With s = 1 where y > 0, else 0: dx = s·(dy - Σ s·dy / Σ s). At a kink, where an element just
/// reaches 0, that of the side where it is 0.
[[nodiscard]] Tensor sparsemax(const Tensor& x, int axis = -1);
/// The same over the elements that are kept; the rest as in softmax.
[[nodiscard]] Tensor sparsemax(const Tensor& x, const Tensor& keep, int axis = -1);
/// Between softmax and sparsemax, Peters, Niculae & Martins 2019 (entmax with alpha = 1.5): max(x/2 - τ, 0)² with
/// Σ y = 1, exact by sorting. With s = √y: dx = s·(dy - Σ s·dy / Σ s).
[[nodiscard]] Tensor entmax15(const Tensor& x, int axis = -1);
/// The same over the elements that are kept; the rest as in softmax.
[[nodiscard]] Tensor entmax15(const Tensor& x, const Tensor& keep, int axis = -1);

// ---- products ------------------------------------------------------------------------------------------

/// [.., n, k] x [.., k, m] -> [.., n, m]; leading axes broadcast; a vector counts as a row on the left and as a
/// column on the right, and its axis is dropped again (NumPy's matmul). k = 0 gives zeros. Computed by the BLAS; an
/// operand is copied only where neither of its last two strides is 1. da = dy·bᵀ, db = aᵀ·dy, summed over stretched
/// axes. ShapeError, DTypeError (floats of one dtype only).
[[nodiscard]] Tensor matmul(const Tensor& a, const Tensor& b);

/// Sums of products by Einstein's rule, with NumPy's notation: a letter for each axis of each operand, commas between
/// operands, and behind -> the axes of the result. "bhqd,bhkd->bhqk" multiplies queries with keys; what is not in the
/// result is added up. A letter that stands twice in one operand takes the diagonal; "..." stands for any axes, which
/// stretch as in broadcasting; without -> the result has those of "..." and then the letters that occur once, in the
/// order of the alphabet. Spaces count for nothing. Worked off from left to right, two operands at a time, by matmul, or
/// by multiply() where nothing is added up; axes are put in order by views, and copied where no strides would do. The
/// gradients are those of these steps. ValueError: another character, an index of the result that is in no operand or
/// that stands there twice, another number of operands; ShapeError: another number of axes, or an index with two
/// extents (1 does not stretch but for "..."), named with operand and index. Floats of one dtype.
[[nodiscard]] Tensor einsum(const std::string& subscripts, const Tensors& operands);

// ---- shape ---------------------------------------------------------------------------------------------

/// The elements in row-major order under another shape; one extent may be -1 and is worked out. A view where the
/// strides allow, a copy otherwise. ShapeError when the number of elements differs.
[[nodiscard]] Tensor reshape(const Tensor& x, const Shape& shape);
/// Axis i of the result is axis `axes[i]` of x. A view. ShapeError unless every axis is named once.
[[nodiscard]] Tensor permute(const Tensor& x, const Axes& axes);
/// Swaps two axes; the last two by default. A view.
[[nodiscard]] Tensor transpose(const Tensor& x, int axis_a = -2, int axis_b = -1);
/// Drops axes of extent 1: those named, or all there are. A view. ShapeError for a named axis of another extent.
[[nodiscard]] Tensor squeeze(const Tensor& x);
[[nodiscard]] Tensor squeeze(const Tensor& x, const Axes& axes);
/// Inserts axes of extent 1; `axes` are their places in the result. A view.
[[nodiscard]] Tensor expand_dims(const Tensor& x, const Axes& axes);
/// x stretched by NumPy's rules: a view with stride 0 on the stretched axes; the gradient is added up over them
/// (sum_to). ShapeError when x does not stretch to `shape`.
[[nodiscard]] Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// One after another along an axis; the other axes must agree. At least one part, all of one dtype. Each part's
/// gradient is its stretch of dy. ShapeError, DTypeError, ValueError.
[[nodiscard]] Tensor concatenate(const Tensors& parts, int axis = 0);
[[nodiscard]] Tensor concatenate(std::initializer_list<Tensor> parts, int axis = 0);
/// Side by side along a new axis, which is `axis` of the result; all shapes must agree. Otherwise as concatenate.
[[nodiscard]] Tensor stack(const Tensors& parts, int axis = 0);
[[nodiscard]] Tensor stack(std::initializer_list<Tensor> parts, int axis = 0);
/// Equal parts along an axis, as views; ShapeError when `parts` does not divide the extent.
[[nodiscard]] Tensors split(const Tensor& x, Size parts, int axis = 0);
/// Parts of the given extents, as views; ShapeError unless they add up to the axis.
[[nodiscard]] Tensors split(const Tensor& x, const std::vector<Size>& extents, int axis = 0);

/// Python's start:stop:step: negative bounds count from the end, all are clipped. `end` leaves a bound open: the
/// last element for a start, and for a stop as far as it goes in the direction of the step.
struct Slice {
  static constexpr Size end = INT64_MAX;
  Size start = 0;
  Size stop = end;
  Size step = 1;  ///< may be negative, not 0
  /// From the last to the first.
  static Slice reversed() { return {end, end, -1}; }
};
/// The elements of a range along one axis. A view; the gradient is dy at these places and 0 elsewhere. ValueError
/// for step 0.
[[nodiscard]] Tensor slice(const Tensor& x, int axis, const Slice& range);
/// One index along an axis, which is dropped; negative counts from the end. ValueError when out of range. A view.
[[nodiscard]] Tensor select(const Tensor& x, int axis, Size index);
/// So many places before and after an axis.
struct Padding {
  Size before = 0, after = 0;
};
/// x with `value` around it: one Padding per axis (NumPy's pad with a constant). The gradient is dy at x's places.
/// ShapeError for another number of widths, ValueError for a negative one.
[[nodiscard]] Tensor pad(const Tensor& x, const std::vector<Padding>& widths, double value = 0);
/// The named axes from the last to the first (NumPy's flip). A view.
[[nodiscard]] Tensor flip(const Tensor& x, const Axes& axes);
/// Moves the elements `shift` places towards the end of an axis; what leaves it enters at the start (NumPy's roll). The
/// gradient is rolled back.
[[nodiscard]] Tensor roll(const Tensor& x, Size shift, int axis);
/// The whole of x, so many times one after another along each axis (NumPy's and PyTorch's tile, PyTorch's repeat). The
/// shorter of repeats and shape gets ones in front. The gradient adds up what came from one element. ValueError for a
/// negative number.
[[nodiscard]] Tensor tile(const Tensor& x, const Sizes& repeats);
/// Each element of an axis so many times in a row (PyTorch's repeat_interleave, NumPy's repeat). Otherwise as tile.
[[nodiscard]] Tensor repeat_interleave(const Tensor& x, Size repeats, int axis);
/// The upper triangle of the last two axes, where column - row >= diagonal; the rest is 0. ShapeError below rank 2.
[[nodiscard]] Tensor triu(const Tensor& x, Size diagonal = 0);
/// The lower triangle of the last two axes, where column - row <= diagonal; the rest is 0. ShapeError below rank 2.
[[nodiscard]] Tensor tril(const Tensor& x, Size diagonal = 0);

// ---- indexing ------------------------------------------------------------------------------------------

/// Rows of `x` along `axis`: the result's shape is x's with that axis replaced by ids' shape (NumPy's take). Ids are
/// int64 from 0 to extent - 1; repeated ids add up in the gradient, in their order. ValueError for an id out of range
/// names its position and value; DTypeError, ShapeError.
[[nodiscard]] Tensor take(const Tensor& x, const Tensor& ids, int axis = 0);
/// out[..i..] = x[..ids[..i..]..] along `axis`; ids has x's rank and is no larger on the other axes (torch.gather).
/// Its gradient is scatter_add into zeros. ValueError for an id out of range, as take.
[[nodiscard]] Tensor gather(const Tensor& x, const Tensor& ids, int axis);
/// x with updates[..i..] added at [..ids[..i..]..] along `axis`; repeated ids add up, in row-major order
/// (torch.scatter_add). ids as in gather, updates of ids' shape. dx = dy, dupdates = gather(dy, ids).
[[nodiscard]] Tensor scatter_add(const Tensor& x, const Tensor& ids, const Tensor& updates, int axis);
/// [..] int64 -> [.., classes]; ValueError for an id outside 0..classes-1. No gradient.
[[nodiscard]] Tensor one_hot(const Tensor& ids, Size classes, DType dtype = float64);

// ---- order ---------------------------------------------------------------------------------------------

enum class Order { ascending, descending };
/// Elements in their order, and the places (int64) they had along the axis.
struct Sorted {
  Tensor values, indices;
};
/// Along an axis; stable: equals keep their order, in either direction. NaN comes last in both. The gradient of each
/// value goes to the place it came from. Floats and int64.
[[nodiscard]] Sorted sort(const Tensor& x, int axis = -1, Order order = Order::ascending);
/// The indices of sort.
[[nodiscard]] Tensor argsort(const Tensor& x, int axis = -1, Order order = Order::ascending);
/// The k largest along an axis, the largest first, or the k smallest, the smallest first; of equals those that stand
/// first. NaN wins in both, as in max and min, so that it cannot go unseen. The gradient goes to the places they came
/// from. ValueError unless 0 <= k <= extent.
[[nodiscard]] Sorted top_k(const Tensor& x, Size k, int axis = -1, Order order = Order::descending);

// ---- layers --------------------------------------------------------------------------------------------

/// Ba, Kiros & Hinton 2016, over the last axis: (x - mean) / sqrt(variance + epsilon)·gamma + beta, with the
/// variance divided by the width. gamma, beta [width]. Mean and variance are float64, whatever x is; a row of equal
/// numbers gives exactly beta. With g = dy·gamma and z the normalised row,
/// dx = (g - mean(g) - z·mean(g·z)) / sqrt(variance + epsilon). ValueError unless epsilon > 0.
[[nodiscard]] Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double epsilon = 1e-5);
/// Zhang & Sennrich 2019, over the last axis: z = r·x with r = 1 / sqrt(mean(x²) + epsilon), times weight [width] if
/// there is one. The mean is float64, whatever x is. With g = dy·weight: dx = r·(g - z·mean(g·z)). ValueError unless
/// epsilon > 0; ShapeError, DTypeError.
[[nodiscard]] Tensor rms_norm(const Tensor& x, double epsilon = 1e-5);
[[nodiscard]] Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon = 1e-5);
/// Srivastava et al. 2014, inverted: each element is 0 with probability p, else divided by (1 - p); so is dy. p = 0
/// gives x itself, p = 1 gives zeros. Advances rng by one draw (64 bits) whatever p is; which elements are dropped
/// depends on that draw and on their row-major position alone. ValueError unless 0 <= p <= 1.
[[nodiscard]] Tensor dropout(const Tensor& x, double p, Rng& rng);

// ---- no gradient ---------------------------------------------------------------------------------------

/// Element by element, to booleans. As in IEEE 754 no comparison with NaN is true but not_equal.
[[nodiscard]] Tensor equal(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor not_equal(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor less(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor less_equal(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor greater(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor greater_equal(const Tensor& a, const Tensor& b);
/// Of booleans, element by element.
[[nodiscard]] Tensor logical_and(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor logical_or(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor logical_not(const Tensor& x);
/// Of each element: is it a finite number, is it none at all?
[[nodiscard]] Tensor isfinite(const Tensor& x);
[[nodiscard]] Tensor isnan(const Tensor& x);
/// Index of the largest along an axis (the first of equals; the first NaN if there is one). int64. ShapeError when
/// the axis is empty.
[[nodiscard]] Tensor argmax(const Tensor& x, int axis = -1, Keep keep = Keep::no);
/// Are all true? True for none. x is boolean.
[[nodiscard]] bool all(const Tensor& x);
/// Is one true? False for none. x is boolean.
[[nodiscard]] bool any(const Tensor& x);

// ---- operators -----------------------------------------------------------------------------------------

/// add, subtract, multiply, divide and negate.
[[nodiscard]] inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
[[nodiscard]] inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
[[nodiscard]] inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
[[nodiscard]] inline Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
[[nodiscard]] inline Tensor operator-(const Tensor& x) { return negate(x); }

/// With a plain number, which takes the dtype of the Tensor.
[[nodiscard]] Tensor add(const Tensor& a, double b);
[[nodiscard]] Tensor multiply(const Tensor& a, double b);
[[nodiscard]] inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
[[nodiscard]] inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
[[nodiscard]] inline Tensor operator-(const Tensor& a, double b) { return add(a, -b); }
[[nodiscard]] inline Tensor operator-(double a, const Tensor& b) { return add(negate(b), a); }
[[nodiscard]] inline Tensor operator*(const Tensor& a, double b) { return multiply(a, b); }
[[nodiscard]] inline Tensor operator*(double a, const Tensor& b) { return multiply(b, a); }
[[nodiscard]] inline Tensor operator/(const Tensor& a, double b) { return divide(a, scalar(b, a.dtype())); }
[[nodiscard]] inline Tensor operator/(double a, const Tensor& b) { return divide(scalar(a, b.dtype()), b); }

}  // namespace regard
