// Sums of products by letters. Axes are put in order by views, and the rest is done by products that exist,
// so that derivatives of every order follow.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"

namespace regard {
namespace detail {
namespace {

/// A tensor with a label for each axis: a letter, or a digit for an axis that "..." stands for, counted from
/// the right.
struct Term {
  Tensor x;
  std::string labels;

  Size extent(char label) const { return x.shape()[static_cast<int>(labels.find(label))]; }
};

bool has(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

template <class Error>
[[noreturn]] void refuse(const std::string& subscripts, const std::string& why) {
  throw Error("einsum(\"" + subscripts + "\"): " + why);
}

std::string named(char label) {
  return is_letter(label) ? std::string("index '") + label + "'" : "an axis of \"...\"";
}

std::string labels_of(const std::string& subscripts, std::string term, int dots) {
  const std::size_t at = term.find("...");
  if (at != std::string::npos) term.erase(at, 3);
  for (const char c : term)
    if (!is_letter(c))
      refuse<ValueError>(subscripts, std::string("'") + c + "' is no letter and no one \"...\"");
  return at == std::string::npos ? term : term.insert(at, "87654321" + max_rank - dots);
}

// One extent for each letter; the axes of "..." stretch.
std::vector<Term> terms_of(const std::string& subscripts, const std::string& inputs,
                           const Tensors& operands) {
  const auto count = 1 + static_cast<std::size_t>(std::count(inputs.begin(), inputs.end(), ','));
  if (count != operands.size())
    refuse<ValueError>(
        subscripts, "names " + std::to_string(count) + " operands, got " + std::to_string(operands.size()));
  const auto operand = [&](std::size_t i) {
    return " operand " + std::to_string(i) + " " + to_string(operands[i].shape());
  };
  std::map<char, std::pair<Size, std::size_t>> known;
  std::vector<Term> terms;
  std::istringstream list(inputs);
  for (std::size_t i = 0; i < count; ++i) {
    common_float_dtype("einsum", operands[0], operands[i]);
    std::string text;
    std::getline(list, text, ',');
    const int more = operands[i].rank() - static_cast<int>(labels_of(subscripts, text, 0).size());
    if (has(text, '.') ? more < 0 : more != 0)
      refuse<ShapeError>(subscripts, "\"" + text + "\" does not name the axes of" + operand(i));
    terms.push_back({operands[i], labels_of(subscripts, text, more)});
    for (int axis = 0; axis < operands[i].rank(); ++axis) {
      const char label = terms[i].labels[static_cast<std::size_t>(axis)];
      const Size n = operands[i].shape()[axis];
      if (n == 1 && !is_letter(label)) continue;
      const auto [extent, owner] = known.insert({label, {n, i}}).first->second;
      if (extent != n)
        refuse<ShapeError>(subscripts, named(label) + " is " + std::to_string(extent) + " in" +
                                           operand(owner) + " and " + std::to_string(n) + " in" + operand(i));
    }
  }
  return terms;
}

/// What stands behind the arrow, or else "..." and the letters that occur once, in the order of the alphabet.
std::string output_of(const std::string& subscripts, const std::string& text,
                      const std::vector<Term>& terms) {
  std::string all;
  for (const Term& term : terms) all += term.labels;
  int dots = 0;
  while (has(all, static_cast<char>('1' + dots))) ++dots;
  std::string output = labels_of(subscripts, text.empty() ? "..." : text.substr(2), dots);
  for (char c = 'A'; text.empty() && c <= 'z'; ++c)
    if (is_letter(c) && std::count(all.begin(), all.end(), c) == 1) output += c;
  for (const char c : output)
    if (!has(all, c) || std::count(output.begin(), output.end(), c) > 1)
      refuse<ValueError>(subscripts, named(c) + (has(all, c) ? " is twice in the output"
                                                             : " of the output is in no operand"));
  if (dots > 0 && !has(output, '1')) refuse<ValueError>(subscripts, "the output lacks \"...\"");
  return output;
}

/// An axis for each of the labels, in their order; of extent 1 where the term lacks one.
Tensor aligned(const Term& term, const std::string& labels) {
  if (term.labels == labels) return term.x;
  Axes order, missing;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (has(term.labels, labels[i]))
      order.push_back(static_cast<Size>(term.labels.find(labels[i])));
    else
      missing.push_back(static_cast<Size>(i));
  return expand_dims(permute(term.x, order), missing);
}

/// [batch.., all rows as one axis, all columns as one].
Tensor matrices(const Term& term, const std::string& batch, const std::string& rows,
                const std::string& columns) {
  const Tensor x = aligned(term, batch + rows + columns);
  Shape shape;
  for (std::size_t i = 0; i < batch.size(); ++i) shape.push_back(x.shape()[static_cast<int>(i)]);
  for (const std::string& group : {rows, columns}) {
    Size product = 1;
    for (const char label : group) product *= term.extent(label);
    shape.push_back(product);
  }
  return reshape(x, shape);
}

/// Added up over what is not wanted.
Term summed(const Term& term, const std::string& wanted) {
  Term out;
  Axes axes;
  for (std::size_t i = 0; i < term.labels.size(); ++i)
    if (has(wanted, term.labels[i]))
      out.labels += term.labels[i];
    else
      axes.push_back(static_cast<Size>(i));
  out.x = axes.empty() ? term.x : sum(term.x, axes);
  return out;
}

/// Every label once: of two axes that share one, the diagonal, which is every (n + 1)th place of both as one
/// axis.
Term diagonal(Term term) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    const char label = term.labels[i];
    const std::size_t again = term.labels.find(label, i + 1);
    if (again == std::string::npos) continue;
    std::string rest = term.labels;
    rest.erase(again, 1).erase(i, 1);
    term.labels[i--] = '?';
    term.labels[again] = '!';
    const Tensor square = matrices(term, rest, "", "?!");
    term = {squeeze(slice(square, -1, {0, Slice::end, term.extent('?') + 1}), {-2}), rest + label};
  }
  return term;
}

/// The product of two terms, added up over what is not wanted.
Term contracted(const Term& left, const Term& right, const std::string& wanted) {
  const Term a = summed(left, wanted + right.labels), b = summed(right, wanted + left.labels);
  std::string batch, rows, inner, columns;
  for (const char label : a.labels)
    (!has(b.labels, label) ? rows : has(wanted, label) ? batch : inner) += label;
  for (const char label : b.labels)
    if (!has(a.labels, label)) columns += label;
  const std::string labels = batch + rows + columns;
  if (inner.empty()) return {aligned(a, labels) * aligned(b, labels), labels};
  const Tensor y = matmul(matrices(a, batch, rows, inner), matrices(b, batch, inner, columns));
  Shape shape = y.shape();
  for (int i = 0; i < 2; ++i) shape.erase(shape.rank() - 1);
  for (const char label : rows) shape.push_back(a.extent(label));
  for (const char label : columns) shape.push_back(b.extent(label));
  return {reshape(y, shape), labels};
}

}  // namespace
}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor einsum(const std::string& subscripts, const Tensors& operands) {
  std::string text = subscripts;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = std::min(text.find("->"), text.size());
  const std::vector<Term> terms = terms_of(subscripts, text.substr(0, arrow), operands);
  const std::string output = output_of(subscripts, text.substr(arrow), terms);
  Term y = diagonal(terms[0]);
  for (std::size_t i = 1; i < terms.size(); ++i) {
    std::string wanted = output;
    for (std::size_t later = i + 1; later < terms.size(); ++later) wanted += terms[later].labels;
    y = contracted(y, diagonal(terms[i]), wanted);
  }
  return unchanged(aligned(summed(y, output), output));
}

}  // namespace regard
