#include <algorithm>
#include <limits>
#include <ostream>
#include <utility>
#include <vector>

#include <regard/error.hpp>
#include <regard/mask.hpp>
#include <regard/ops.hpp>

#include "autograd/host_step.hpp"
#include "memory/pool.hpp"
#include "ops/mask_parts.hpp"
#include "tensor/impl.hpp"

namespace regard {

struct Mask::Term {
  enum class Kind { keep, hide, bias, alibi, causal, window, padding, documents };

  Kind kind;
  Tensor tensor = {};   ///< keep, hide, bias; lengths; ids of the queries
  Tensor key_ids = {};  ///< documents of two kinds of tokens
  Align align = Align::same_length;
  Size radius = 0;
};

struct Mask::Terms {
  detail::PoolVector<Term> list;
};

namespace {

/// The scores a mask is worked out for.
struct Scores {
  Size batch, heads, queries, keys;

  Shape shape() const { return {batch, heads, queries, keys}; }
};

constexpr const char* axis_names[] = {"batch", "heads", "queries", "keys"};

[[noreturn]] void does_not_fit(const std::string& mask, const Shape& shape, const Scores& scores,
                               const std::string& why) {
  throw ShapeError("attention: " + mask + " " + to_string(shape) + " does not fit scores " +
                   to_string(scores.shape()) + " (batch, heads, queries, keys): " + why);
}

std::string expected(const std::string& axis, Size got, Size wanted) {
  return "axis " + axis + " is " + std::to_string(got) + ", expected " + std::to_string(wanted);
}

Tensor require_mask_shape(const char* function, const Tensor& x) {
  if (x.rank() < 2 || x.rank() > 4)
    throw ShapeError(
        std::string(function) +
        ": expected [queries, keys], [batch, queries, keys] or [batch, heads, queries, keys], got " +
        to_string(x.shape()) + "; insert axes of extent 1 to say which axes these are");
  return x;
}

Tensor require_boolean(const char* function, const Tensor& x) {
  if (x.dtype() != boolean)
    throw DTypeError(
        std::string(function) + ": expected a boolean tensor, got " + name(x.dtype()) + " " +
        to_string(x.shape()) +
        "; convert ones and zeros with .to(boolean), and give what is to be added to the scores to "
        "Mask::bias");
  return require_mask_shape(function, x);
}

Tensor require_ids(const char* function, const Tensor& ids, int least_rank, int most_rank) {
  if (ids.dtype() != int64)
    throw DTypeError(std::string(function) + ": expected int64, got " + name(ids.dtype()) + " " +
                     to_string(ids.shape()) + "; convert with .to(int64)");
  if (ids.rank() < least_rank || ids.rank() > most_rank)
    throw ShapeError(std::string(function) + ": expected [batch" +
                     (most_rank == 2 ? ", tokens] or [tokens" : "") + "], got " + to_string(ids.shape()));
  return ids;
}

/// A keep, hide or bias as rank 4, every extent checked.
Tensor fit(const Tensor& x, const Scores& scores) {
  const Tensor mask = x.rank() == 2 ? expand_dims(x, {0, 1}) : x.rank() == 3 ? expand_dims(x, {1}) : x;
  const Shape wanted = scores.shape();
  for (int axis = 0; axis < 4; ++axis) {
    if (mask.size(axis) == 1 || mask.size(axis) == wanted[axis]) continue;
    const bool meant_heads = x.rank() == 3 && axis == 0 && x.size(0) == scores.heads;
    does_not_fit(
        "mask", x.shape(), scores,
        expected(axis_names[axis], mask.size(axis), wanted[axis]) +
            (meant_heads
                 ? "; rank 3 is [batch, queries, keys]; one mask per head is [1, heads, queries, keys]"
                 : ""));
  }
  return mask;
}

/// At which key the first query stands.
Size first_position(const char* mask, Align align, const Scores& scores) {
  if (align == Align::same_length && scores.queries != scores.keys)
    throw ShapeError(
        std::string("attention: ") + mask + " mask of " + std::to_string(scores.queries) + " queries and " +
        std::to_string(scores.keys) +
        " keys must say where the queries stand: Align::top_left puts the first query at the first key, "
        "Align::bottom_right the last query at the last key (cached decoding)");
  return align == Align::bottom_right ? scores.keys - scores.queries : 0;
}

/// Positions of the queries among the keys, [queries, 1].
Tensor query_positions(Size first, const Scores& scores) {
  return expand_dims(arange(scores.queries) + static_cast<double>(first), {1});
}

Tensor key_positions(const Scores& scores) {
  return expand_dims(arange(scores.keys), {0});
}

void check_lengths(const Tensor& lengths, const Scores& scores) {
  if (lengths.size(0) != scores.batch)
    does_not_fit("padding", lengths.shape(), scores, expected("batch", lengths.size(0), scores.batch));
  const Tensor row = lengths.contiguous();
  detail::host_step([row, scores] {
    const Size* const values = detail::array(row).as<Size>();
    for (Size b = 0; b < scores.batch; ++b) {
      if (values[b] < 0 || values[b] > scores.keys)
        throw ValueError("attention: padding of sequence " + std::to_string(b) + " is " +
                         std::to_string(values[b]) + " keys long, expected 0.." + std::to_string(scores.keys));
    }
  });
}

/// Ids as [batch or 1, 1, tokens], checked against the axis they are to lie along, behind those there are.
void add_ids(Tensor& all, const Tensor& ids, const Scores& scores, const char* axis, Size tokens) {
  const Tensor rows = ids.rank() == 1 ? expand_dims(ids, {0}) : ids;
  if (rows.size(1) != tokens)
    does_not_fit("documents", ids.shape(), scores, expected(axis, rows.size(1), tokens));
  if (rows.size(0) != 1 && rows.size(0) != scores.batch)
    does_not_fit("documents", ids.shape(), scores, expected("batch", rows.size(0), scores.batch));
  const auto of_all = [&](const Tensor& x) { return broadcast_to(x, {scores.batch, x.size(1), tokens}); };
  const Tensor one = expand_dims(rows, {1});
  all = all.defined() ? concatenate({of_all(all), of_all(one)}, 1) : one;
}

void hide_rest(Tensor& keep, const Tensor& visible) {
  const Tensor more = visible.rank() == 2 ? expand_dims(visible, {0, 1}) : visible;
  keep = keep.defined() ? logical_and(keep, more) : more;
}

void add_bias(ResolvedMask& mask, const Tensor& bias) {
  if (mask.bias.defined() && mask.bias.dtype() != bias.dtype())
    throw DTypeError(std::string("attention: mask biases of ") + name(mask.bias.dtype()) + " and " +
                     name(bias.dtype()) + " do not go together; convert one with .to()");
  const Tensor infinite = scalar(-std::numeric_limits<double>::infinity(), bias.dtype());
  const Tensor visible = not_equal(bias.detach(), infinite);
  // A bias that hides nothing goes by the plain products. Whether it does may not change under a captured step.
  const auto hides = [visible] {
    const detail::OffTheRecord off;
    return !all(visible);
  };
  const bool hides_some = hides();
  if (hides_some) hide_rest(mask.keep, visible);
  if (detail::context().capture)
    detail::list_host_step([hides, hides_some] {
      if (hides() != hides_some)
        throw GraphError(std::string("replay: the mask's bias has ") + (hides_some ? "no" : "a") +
                         " -inf now, and had " + (hides_some ? "one" : "none") +
                         " when the step was captured; hide with Mask::keep what comes and goes");
    });
  mask.bias = mask.bias.defined() ? mask.bias + bias : bias;
}

constexpr const char* kind_names[] = {"keep",   "hide",   "bias",    "alibi",
                                      "causal", "window", "padding", "documents"};
constexpr const char* align_names[] = {"", "top_left", "bottom_right"};

}  // namespace

Mask::Mask(Term term)
    : terms_(std::allocate_shared<const Terms>(detail::PoolAllocator<Terms>(), Terms{{std::move(term)}})) {}

Mask Mask::keep(const Tensor& visible) {
  return Mask(Term{Term::Kind::keep, require_boolean("Mask::keep", visible)});
}

Mask Mask::hide(const Tensor& hidden) {
  return Mask(Term{Term::Kind::hide, require_boolean("Mask::hide", hidden)});
}

Mask Mask::bias(const Tensor& added) {
  if (!is_float(added.dtype()))
    throw DTypeError(std::string("Mask::bias: expected float32 or float64, got ") + name(added.dtype()) +
                     " " + to_string(added.shape()) +
                     (added.dtype() == boolean ? "; Mask::keep and Mask::hide take conditions"
                                               : "; convert with .to(float64)"));
  return Mask(Term{Term::Kind::bias, require_mask_shape("Mask::bias", added)});
}

Mask Mask::alibi(Align align) {
  return Mask(Term{Term::Kind::alibi, {}, {}, align});
}

Mask Mask::causal(Align align) {
  return Mask(Term{Term::Kind::causal, {}, {}, align});
}

Mask Mask::window(Size radius, Align align) {
  if (radius < 0)
    throw ValueError("Mask::window: the radius must be 0 or more, got " + std::to_string(radius));
  return Mask(Term{Term::Kind::window, {}, {}, align, radius});
}

Mask Mask::padding(const Tensor& lengths) {
  return Mask(Term{Term::Kind::padding, require_ids("Mask::padding", lengths, 1, 1)});
}

Mask Mask::documents(const Tensor& ids) {
  return documents(ids, ids);
}

Mask Mask::documents(const Tensor& query_ids, const Tensor& key_ids) {
  return Mask(Term{Term::Kind::documents, require_ids("Mask::documents", query_ids, 1, 2),
                   require_ids("Mask::documents", key_ids, 1, 2)});
}

Mask Mask::and_also(const Mask& other) const {
  if (is_none()) return other;
  if (other.is_none()) return *this;
  Terms terms = *terms_;
  terms.list.insert(terms.list.end(), other.terms_->list.begin(), other.terms_->list.end());
  Mask both;
  both.terms_ = std::allocate_shared<const Terms>(detail::PoolAllocator<Terms>(), std::move(terms));
  return both;
}

detail::MaskPieces detail::MaskParts::take(const Mask& mask, Size batch, Size heads, Size queries,
                                           Size keys) {
  using Kind = Mask::Term::Kind;
  MaskPieces pieces;
  pieces.low = -queries;
  pieces.high = keys;
  const Scores scores{batch, heads, queries, keys};
  const auto narrow = [&pieces](Size low, Size high) {
    pieces.low = std::max(pieces.low, low);
    pieces.high = std::min(pieces.high, high);
  };
  for (std::size_t i = 0; !mask.is_none() && i < mask.terms_->list.size(); ++i) {
    const Mask::Term& term = mask.terms_->list[i];
    switch (term.kind) {
      case Kind::keep:
        hide_rest(pieces.tables.keep, fit(term.tensor, scores));
        break;
      case Kind::hide:
        hide_rest(pieces.tables.keep, logical_not(fit(term.tensor, scores)));
        break;
      case Kind::bias:
        pieces.biases.push_back(fit(term.tensor, scores));
        break;
      case Kind::alibi:
        if (pieces.tables.slopes.defined())
          throw ValueError("attention: alibi stands twice in the mask " + mask.describe());
        pieces.first = first_position("an alibi", term.align, scores);
        pieces.tables.slopes = reshape(alibi_slopes(heads), {1, heads, 1, 1});
        pieces.tables.positions = query_positions(pieces.first, scores);
        break;
      case Kind::causal:
        narrow(-queries, first_position("a causal", term.align, scores));
        break;
      case Kind::window: {
        const Size first = first_position("a window", term.align, scores);
        const Size radius = std::min(term.radius, queries + keys);
        narrow(first - radius, first + radius);
        break;
      }
      case Kind::padding:
        check_lengths(term.tensor, scores);
        pieces.lengths = pieces.lengths.defined() ? minimum(pieces.lengths, term.tensor) : term.tensor;
        break;
      case Kind::documents:
        add_ids(pieces.query_ids, term.tensor, scores, "queries", queries);
        add_ids(pieces.key_ids, term.key_ids, scores, "keys", keys);
        break;
    }
  }
  return pieces;
}

void detail::MaskPieces::add_up_biases() {
  if (biases.size() == 1)
    tables.bias = biases[0];
  else
    for (const Tensor& bias : biases) add_bias(tables, bias);
}

bool detail::MaskPieces::leave_a_key(Size queries, Size keys) const {
  const bool by_numbers = !biases.empty() || tables.keep.defined() || lengths.defined() || query_ids.defined();
  return keys > 0 && !by_numbers && low <= high && high >= 0 && queries - 1 + low <= keys - 1;
}

ResolvedMask Mask::resolve(Size batch, Size heads, Size queries, Size keys) const {
  if (is_none()) return {};
  const Scores scores{batch, heads, queries, keys};
  const detail::MaskPieces pieces = detail::MaskParts::take(*this, batch, heads, queries, keys);
  ResolvedMask mask = pieces.tables;
  const Tensor key = key_positions(scores);
  if (pieces.high < keys) hide_rest(mask.keep, less_equal(key, query_positions(pieces.high, scores)));
  if (pieces.low > -queries) hide_rest(mask.keep, less_equal(query_positions(pieces.low, scores), key));
  for (const Tensor& bias : pieces.biases) add_bias(mask, bias);
  if (pieces.lengths.defined())
    hide_rest(mask.keep, less(expand_dims(key, {0, 1}), expand_dims(pieces.lengths, {1, 2, 3})));
  for (Size i = 0; pieces.query_ids.defined() && i < pieces.query_ids.size(1); ++i)
    hide_rest(mask.keep, equal(expand_dims(slice(pieces.query_ids, 1, {i, i + 1}), {3}),
                               expand_dims(slice(pieces.key_ids, 1, {i, i + 1}), {2})));
  // A mask that hides nothing by its kind alone is none. One that hides nothing by its numbers stays: the next numbers
  // may be others, and the way that is computed must not depend on them, for a captured step's sake.
  const auto by_numbers = [](const Term& term) { return term.tensor.defined(); };
  if (!mask.keep.defined() || std::any_of(terms_->list.begin(), terms_->list.end(), by_numbers)) return mask;
  const detail::OffTheRecord off;
  if (all(mask.keep)) mask.keep = Tensor();
  return mask;
}

std::string Mask::describe() const {
  if (is_none()) return "everything visible";
  std::string text;
  for (const Term& term : terms_->list) {
    std::string details = align_names[static_cast<std::size_t>(term.align)];
    if (term.kind == Term::Kind::window)
      details = std::to_string(term.radius) + (details.empty() ? "" : ", ") + details;
    text += (text.empty() ? "" : " & ") + std::string(kind_names[static_cast<std::size_t>(term.kind)]);
    if (!details.empty()) text += "(" + details + ")";
    if (term.tensor.defined()) text += " " + to_string(term.tensor.shape());
  }
  return text;
}

std::string Mask::grid(Size batch, Size heads, Size queries, Size keys) const {
  const ResolvedMask mask = resolve(batch, heads, queries, keys);
  // One block where all sequences (heads) are alike.
  const auto blocks = [&mask](int axis, Size extent) {
    const bool differ = (mask.keep.defined() && mask.keep.size(axis) > 1) ||
                        (mask.bias.defined() && mask.bias.size(axis) > 1);
    return differ ? extent : std::min<Size>(extent, 1);
  };
  const Shape shape{blocks(0, batch), blocks(1, heads), queries, keys};
  std::vector<bool> keep, biased;
  if (mask.keep.defined()) keep = broadcast_to(mask.keep, shape).to_vector<bool>();
  Tensor added = mask.bias.defined() ? mask.bias.detach().to(boolean) : full({}, 0, boolean);
  if (mask.slopes.defined())
    added = logical_or(added, not_equal(expand_dims(arange(keys), {0}), mask.positions));
  if (mask.bias.defined() || mask.slopes.defined()) biased = broadcast_to(added, shape).to_vector<bool>();

  std::string text;
  std::size_t at = 0;
  for (Size b = 0; b < shape[0]; ++b) {
    for (Size h = 0; h < shape[1]; ++h) {
      if (shape[0] > 1) text += "sequence " + std::to_string(b) + (shape[1] > 1 ? ", " : "\n");
      if (shape[1] > 1) text += "head " + std::to_string(h) + "\n";
      for (Size i = 0; i < queries; ++i) {
        for (Size j = 0; j < keys; ++j, ++at)
          text += !keep.empty() && !keep[at] ? "█" : !biased.empty() && biased[at] ? "+" : "·";
        text += "\n";
      }
    }
  }
  return text;
}

Mask detail::MaskParts::map(const Mask& mask, const std::function<Tensor(const Tensor&)>& f) {
  if (mask.is_none()) return mask;
  Mask::Terms terms = *mask.terms_;
  for (Mask::Term& term : terms.list) {
    if (term.tensor.defined()) term.tensor = f(term.tensor);
    if (term.key_ids.defined()) term.key_ids = f(term.key_ids);
  }
  Mask mapped;
  mapped.terms_ = std::make_shared<const Mask::Terms>(std::move(terms));
  return mapped;
}

bool detail::MaskParts::same_kind(const Mask& a, const Mask& b) {
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  const auto alike = [](const Tensor& x, const Tensor& y) {
    if (!x.defined() || !y.defined()) return x.defined() == y.defined();
    return x.shape() == y.shape() && x.dtype() == y.dtype();
  };
  return std::equal(a.terms_->list.begin(), a.terms_->list.end(), b.terms_->list.begin(), b.terms_->list.end(),
                    [&](const Mask::Term& x, const Mask::Term& y) {
                      return x.kind == y.kind && x.align == y.align && x.radius == y.radius &&
                             alike(x.tensor, y.tensor) && alike(x.key_ids, y.key_ids);
                    });
}

void detail::MaskParts::each(const Mask& a, const Mask& b, void (*f)(const Tensor& x, const Tensor& y)) {
  for (std::size_t i = 0; !a.is_none() && i < a.terms_->list.size(); ++i) {
    const Mask::Term &x = a.terms_->list[i], &y = b.terms_->list[i];
    if (x.tensor.defined()) f(x.tensor, y.tensor);
    if (x.key_ids.defined()) f(x.key_ids, y.key_ids);
  }
}

std::ostream& operator<<(std::ostream& out, const Mask& mask) {
  return out << mask.describe();
}

std::string to_string(const Mask& mask) {
  return mask.describe();
}

std::string to_string(const Mask& mask, Size queries, Size keys) {
  return mask.grid(1, 1, queries, keys);
}

}  // namespace regard
