#include <regard/study/leaks.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <regard/error.hpp>
#include <regard/ops.hpp>
#include <regard/random.hpp>

namespace regard::study {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// Positions of a tensor, each a row of numbers: [sequences, positions, width].
struct Rows {
  Size sequences, positions, width;
  Size count() const { return sequences * positions; }
};

Rows rows_of(const Tensor& x, int leading) {
  const Size sequences = leading == 2 ? x.size(0) : 1, positions = x.size(leading - 1);
  const Size count = sequences * positions;
  return {sequences, positions, count == 0 ? 0 : x.numel() / count};
}

/// The numbers as bytes, and each row's share of them.
class Bits {
 public:
  Bits(const Tensor& y, const Rows& rows) : bytes_(bytes(y)), row_(bytes_.size()) {
    if (rows.count() > 0) row_ = bytes_.size() / static_cast<std::size_t>(rows.count());
  }
  bool same_row(const Bits& other, Size row) const {
    const std::size_t at = static_cast<std::size_t>(row) * row_;
    return std::memcmp(bytes_.data() + at, other.bytes_.data() + at, row_) == 0;
  }
  friend bool operator==(const Bits& a, const Bits& b) { return a.bytes_ == b.bytes_; }

 private:
  static std::string bytes(const Tensor& y) {
    const Tensor row_major = y.detach().contiguous();
    const auto copy = [&](const auto* numbers) {
      return std::string(reinterpret_cast<const char*>(numbers),
                         static_cast<std::size_t>(y.numel() * item_size(y.dtype())));
    };
    switch (y.dtype()) {
      case DType::float32:
        return copy(row_major.data<float>());
      case DType::float64:
        return copy(row_major.data<double>());
      case DType::int64:
        return copy(row_major.data<std::int64_t>());
      case DType::boolean:
        return copy(row_major.data<bool>());
    }
    return {};
  }

  std::string bytes_;
  std::size_t row_;
};

/// The model run on variants of one input.
class Audit {
 public:
  Audit(const Function& model, const Tensor& x, const LeakAuditOptions& options)
      : model_(model), x_(x.detach()), options_(options), rng_(options.seed), ids_(!is_float(x.dtype())) {
    require_input();
    leading_ = x.rank() - (ids_ ? 0 : 1);
    in_ = rows_of(x_, leading_);
    if (ids_) collect_ids();
    const NoGrad guard;
    y_ = model_(x_);
    require_output();
    out_ = rows_of(y_, leading_);
    if (!(Bits(model_(x_), out_) == Bits(y_, out_)))
      throw ValueError(
          "audit_leak: the model gave other numbers for the same input; is dropout on? Call evaluate(model)");
  }

  LeakReport run() {
    LeakReport report;
    const auto cells = static_cast<std::size_t>(out_.count() * in_.count());
    std::vector<bool> values(cells), nans(cells), gradients(cells);
    std::vector<double> strength(cells);
    change(values, nans);
    const bool differentiable = !ids_ && is_float(y_.dtype());
    if (differentiable) differentiate(gradients, strength);
    report.by_values = within(values);
    if (!ids_) report.by_nan = within(nans);
    if (differentiable) {
      report.by_gradients = within(gradients);
      report.strength = within(strength);
    }
    for (std::size_t cell = 0; cell < cells; ++cell)
      if (values[cell] || gradients[cell])
        if (const Dependence d = dependence(cell); d.sequence != d.input_sequence) report.across.push_back(d);
    return report;
  }

 private:
  void require_input() const {
    const bool fits = ids_ ? x_.rank() == 1 || x_.rank() == 2 : x_.rank() == 2 || x_.rank() == 3;
    if (x_.dtype() == boolean)
      throw DTypeError("audit_leak: expected floats or int64 ids, got boolean " + to_string(x_.shape()));
    if (!fits)
      throw ShapeError(
          std::string("audit_leak: expected ") +
          (ids_ ? "ids [tokens] or [batch, tokens]" : "x [tokens, width] or [batch, tokens, width]") +
          ", got " + to_string(x_.shape()));
  }

  void require_output() const {
    if (y_.rank() >= leading_ && (leading_ == 1 || y_.size(0) == x_.size(0))) return;
    throw ShapeError(
        "audit_leak: for " + to_string(x_.shape()) + " the model must give " +
        (leading_ == 1 ? std::string("[outputs, ..]") : "[" + std::to_string(x_.size(0)) + ", outputs, ..]") +
        ", got " + to_string(y_.shape()));
  }

  void collect_ids() {
    const std::vector<Size> there = x_.to_vector<Size>();
    if (options_.vocabulary > 0)
      for (Size id = 0; id < options_.vocabulary; ++id) vocabulary_.push_back(id);
    else
      for (const Size id : there)
        if (std::find(vocabulary_.begin(), vocabulary_.end(), id) == vocabulary_.end())
          vocabulary_.push_back(id);
    if (!there.empty() && vocabulary_.size() < 2)
      throw ValueError(
          "audit_leak: there is one id only, and no other to put in its place; name options.vocabulary");
  }

  /// x with other numbers at one position.
  template <class Draw>
  Tensor with_row(Size row, const Draw& draw) const {
    std::vector<double> numbers = x_.to(float64).to_vector<double>();
    for (Size k = row * in_.width; k < (row + 1) * in_.width; ++k) {
      double& number = numbers[static_cast<std::size_t>(k)];
      number = draw(number);
    }
    return from_vector(numbers, x_.shape()).to(x_.dtype());
  }

  Tensor changed(Size row, int attempt) {
    if (!ids_) {
      // Near, and far away: a change may be swallowed by a kink or by rounding.
      const double reach = std::pow(10.0, attempt % 3);
      return with_row(row, [&](double number) { return number + reach * rng_.normal(); });
    }
    return with_row(row, [&](double number) {
      double other = number;
      while (other == number)
        other = static_cast<double>(
            vocabulary_[static_cast<std::size_t>(rng_.below(static_cast<Size>(vocabulary_.size())))]);
      return other;
    });
  }

  void change(std::vector<bool>& values, std::vector<bool>& nans) {
    const NoGrad guard;
    const Bits before(y_, out_);
    const std::vector<bool> was_nan = nan_rows(y_);
    for (Size input = 0; input < in_.count(); ++input) {
      for (int attempt = 0; attempt < options_.changes; ++attempt) {
        const Bits after(same_shape(model_(changed(input, attempt))), out_);
        for (Size output = 0; output < out_.count(); ++output)
          if (!after.same_row(before, output)) values[cell(output, input)] = true;
      }
      if (ids_) continue;
      const std::vector<bool> is_nan =
          nan_rows(same_shape(model_(with_row(input, [](double) { return nan_value; }))));
      for (Size output = 0; output < out_.count(); ++output) {
        const auto row = static_cast<std::size_t>(output);
        if (is_nan[row] && !was_nan[row]) nans[cell(output, input)] = true;
      }
    }
  }

  void differentiate(std::vector<bool>& gradients, std::vector<double>& strength) {
    const EnableGrad guard;
    const Tensor leaf = variable(x_);
    const Tensor y = same_shape(model_(leaf));
    if (!y.requires_grad()) return;  // it depends on x in no way that was recorded
    for (Size output = 0; output < out_.count(); ++output) {
      GradOptions options;
      options.seeds = {seed(output)};
      options.retain_graph = options.allow_unused = true;
      const std::vector<double> dx = grad(y, leaf, options).to(float64).to_vector<double>();
      for (Size k = 0; k < x_.numel(); ++k) {
        const double number = std::fabs(dx[static_cast<std::size_t>(k)]);
        if (number == 0) continue;  // NaN goes on
        const std::size_t at = cell(output, k / in_.width);
        gradients[at] = true;
        if (!(number <= strength[at])) strength[at] = number;
      }
    }
  }

  /// Random numbers at one output, 0 elsewhere: no symmetry of the model makes their effects cancel.
  Tensor seed(Size output) {
    std::vector<double> numbers(static_cast<std::size_t>(y_.numel()), 0.0);
    for (Size k = output * out_.width; k < (output + 1) * out_.width; ++k)
      numbers[static_cast<std::size_t>(k)] = rng_.normal();
    return from_vector(numbers, y_.shape()).to(y_.dtype());
  }

  Tensor same_shape(const Tensor& y) const {
    if (y.shape() == y_.shape() && y.dtype() == y_.dtype()) return y;
    throw ShapeError("audit_leak: the model gave " + to_string(y_.shape()) + " first and " +
                     to_string(y.shape()) + " when numbers had changed");
  }

  std::vector<bool> nan_rows(const Tensor& y) const {
    std::vector<bool> found(static_cast<std::size_t>(out_.count()));
    if (!is_float(y.dtype())) return found;
    const std::vector<bool> nans = isnan(y).to_vector<bool>();
    for (std::size_t k = 0; k < nans.size(); ++k)
      if (nans[k]) found[k / static_cast<std::size_t>(out_.width)] = true;
    return found;
  }

  std::size_t cell(Size output, Size input) const {
    return static_cast<std::size_t>(output * in_.count() + input);
  }

  Dependence dependence(std::size_t at) const {
    const Size output = static_cast<Size>(at) / in_.count(), input = static_cast<Size>(at) % in_.count();
    return {output / out_.positions, output % out_.positions, input / in_.positions, input % in_.positions};
  }

  /// The cells whose input belongs to the output's sequence.
  template <class T>
  Tensor within(const std::vector<T>& cells) const {
    std::vector<T> kept;
    for (std::size_t at = 0; at < cells.size(); ++at)
      if (const Dependence d = dependence(at); d.sequence == d.input_sequence) kept.push_back(cells[at]);
    return from_vector(kept, {out_.sequences, out_.positions, in_.positions});
  }

  const Function& model_;
  Tensor x_, y_;
  LeakAuditOptions options_;
  Rng rng_;
  bool ids_;
  int leading_ = 1;  // axes before the numbers of a position: [batch, ] tokens
  Rows in_{}, out_{};
  std::vector<Size> vocabulary_;
};

}  // namespace

LeakReport audit_leak(const Function& model, const Tensor& x, const LeakAuditOptions& options) {
  return Audit(model, x, options).run();
}

Tensor LeakReport::depends() const {
  return by_gradients.defined() ? logical_or(by_values, by_gradients) : by_values;
}

bool LeakReport::agree() const {
  return !by_gradients.defined() || all(equal(by_values, by_gradients));
}

std::vector<Dependence> LeakReport::leaks(const Mask& allowed) const {
  const Size sequences = by_values.size(0), outputs = by_values.size(1), inputs = by_values.size(2);
  const ResolvedMask mask = allowed.resolve(sequences, 1, outputs, inputs);
  std::vector<Dependence> found = across;
  if (!mask.keep.defined()) return found;
  const Tensor hidden = logical_not(squeeze(broadcast_to(mask.keep, {sequences, 1, outputs, inputs}), {1}));
  const std::vector<bool> leaks = logical_and(depends(), hidden).to_vector<bool>();
  std::size_t at = 0;
  for (Size sequence = 0; sequence < sequences; ++sequence)
    for (Size output = 0; output < outputs; ++output)
      for (Size input = 0; input < inputs; ++input, ++at)
        if (leaks[at]) found.push_back({sequence, output, sequence, input});
  return found;
}

}  // namespace regard::study
