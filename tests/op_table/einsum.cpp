#include "twins/einsum.hpp"
#include "op_table/samples.hpp"
#include "op_table/table.hpp"

namespace regard::test {
namespace {

/// `labels` and `result` say the same to the twin, with a letter for each axis.
Row& summing(Rows& rows, const std::string& name, const std::string& subscripts,
             const std::vector<std::string>& labels, const std::string& result, Samples samples) {
  Row row;
  row.name = "einsum " + name;
  row.call = [subscripts](Inputs x) { return einsum(subscripts, x); };
  row.twin = [labels, result](PlainInputs x) { return einsum_twin(x, labels, result); };
  row.samples = std::move(samples);
  row.misuses = {
      misuse<ValueError>([=] { return einsum(subscripts, {}); }, "operands, got 0"),
      misuse<DTypeError>([=] { return einsum(subscripts, Tensors(labels.size(), ones({2}, int64))); },
                         "expected float32 or float64, got int64"),
  };
  rows.push_back(row);
  return rows.back();
}

/// Pairs of matrices that share an extent each, and more of them in front.
Samples of_matrices(bool right_turned) {
  const auto right = [=](Size n, Size m) { return right_turned ? Shape{m, n} : Shape{n, m}; };
  return {
      {real({3, 4}), real(right(4, 2))},
      {real({1, 1}), real(right(1, 1))},
      {real({0, 3}), real(right(3, 2))},
      {real({2, 0}), real(right(0, 3))},
      {real({3, 3}), same_as(0)},
      {repeated({1, 4}, {3, 4}), real(right(4, 2))},
      {real({2, 3}, Domain::large), real(right(3, 2), Domain::large)},
  };
}

}  // namespace

void add_einsum_rows(Rows& rows) {
  // clang-format off
  Row& product = summing(rows, "as a product of matrices", "ij,jk->ik", {"ij", "jk"}, "ik", of_matrices(false));
  product.misuses.push_back(misuse<ShapeError>([] { return einsum("ij,jk->ik", {ones({2, 3}), ones({4, 5})}); }, "einsum(\"ij,jk->ik\"): index 'j' is 3 in operand 0 [2, 3] and 4 in operand 1 [4, 5]"));
  product.misuses.push_back(misuse<ShapeError>([] { return einsum("ij,jk->ik", {ones({2, 3}), ones({3})}); }, "\"jk\" does not name the axes of operand 1 [3]"));
  product.misuses.push_back(misuse<ShapeError>([] { return einsum("ij,jk->ik", {ones({2, 3}), ones({1, 4})}); }, "index 'j' is 3 in operand 0 [2, 3] and 1 in operand 1 [1, 4]"));
  product.misuses.push_back(misuse<ValueError>([] { return einsum("ij,jk->ix", {ones({2, 3}), ones({3, 4})}); }, "index 'x' of the output is in no operand"));
  product.misuses.push_back(misuse<ValueError>([] { return einsum("ij,jk->ii", {ones({2, 3}), ones({3, 4})}); }, "index 'i' is twice in the output"));
  product.misuses.push_back(misuse<ValueError>([] { return einsum("i1,1k->ik", {ones({2, 3}), ones({3, 4})}); }, "'1' is no letter and no one \"...\""));
  product.misuses.push_back(misuse<ValueError>([] { return einsum("ij->jk->ik", {ones({2, 3})}); }, "'-' is no letter"));
  product.misuses.push_back(misuse<DTypeError>([] { return einsum("ij,jk->ik", {ones({2, 3}), ones({3, 4}, float32)}); }, "einsum: dtypes float64 [2, 3] and float32 [3, 4]"));
  summing(rows, "as a product, implicit and with spaces", " i j , kj ", {"ij", "kj"}, "ik", of_matrices(true));
  summing(rows, "as an outer product, of columns and rows", "ij,jk->jik", {"ij", "jk"}, "jik", of_matrices(false));
  summing(rows, "to a number", "ij,jk->", {"ij", "jk"}, "", of_matrices(false));
  const Samples heads = {{real({2, 3, 4, 2}), real({2, 3, 5, 2})}, {real({1, 1, 1, 1}), real({1, 1, 1, 1})}, {real({0, 2, 3, 2}), real({0, 2, 3, 2})}, {real({2, 1, 3, 0}), real({2, 1, 2, 0})},
                         {real({2, 2, 3, 3}), same_as(0)}, {repeated({1, 2, 3, 1}, {2, 2, 3, 2}), real({2, 2, 4, 2})}, {real({1, 2, 2, 3}, Domain::large), real({1, 2, 2, 3})}};
  summing(rows, "of queries and keys", "bhqd,bhkd->bhqk", {"bhqd", "bhkd"}, "bhqk", heads);
  summing(rows, "of queries and keys, turned", "bhqd,bhkd->kqhb", {"bhqd", "bhkd"}, "kqhb", heads);
  summing(rows, "over two axes at once", "bhqd,bhkd->qk", {"bhqd", "bhkd"}, "qk", heads);
  summing(rows, "element by element", "...,...", {"abcd", "abcd"}, "abcd",
          {{real({2, 3, 4, 2}), real({2, 3, 1, 2})}, {real({1, 1, 1, 1}), real({1, 1, 1, 1})}, {real({0, 2, 3, 2}), real({1, 2, 3, 2})}, {real({2, 1, 3, 2}), real({2, 4, 1, 2})},
           {real({2, 2, 3, 3}), same_as(0)}, {repeated({1, 2, 3, 1}, {2, 2, 3, 2}), real({2, 2, 3, 2})}, {real({1, 2, 2, 3}, Domain::large), real({1, 2, 2, 3})}});
  const Samples stretched = {{real({2, 3, 4}), real({2, 4, 5})}, {real({1, 1, 1}), real({1, 1, 1})}, {real({2, 3, 4}), real({1, 4, 5})}, {real({1, 3, 4}), real({3, 4, 2})}, {real({0, 3, 4}), real({1, 4, 5})},
                             {repeated({1, 3, 4}, {2, 3, 4}), real({2, 4, 2})}, {real({2, 3, 3}), same_as(0)}, {real({2, 2, 3}, Domain::large), real({2, 3, 2})}};
  Row& dots = summing(rows, "of matrices in batches", "...ij,...jk->...ik", {"aij", "ajk"}, "aik", stretched);
  dots.misuses.push_back(misuse<ShapeError>([] { return einsum("...ij,...jk->...ik", {ones({2, 3, 4}), ones({3, 4, 5})}); }, "an axis of \"...\" is 2 in operand 0 [2, 3, 4] and 3 in operand 1 [3, 4, 5]"));
  dots.misuses.push_back(misuse<ValueError>([] { return einsum("...ij,...jk->ik", {ones({2, 3, 4}), ones({2, 4, 5})}); }, "the output lacks \"...\""));
  dots.misuses.push_back(misuse<ValueError>([] { return einsum("...i...j->ij", {ones({2, 3, 4})}); }, "'.' is no letter"));
  summing(rows, "with dots on one side, behind", "i...j,jk->k...i", {"iaj", "jk"}, "kai",
          {{real({3, 2, 4}), real({4, 5})}, {real({1, 1, 1}), real({1, 1})}, {real({3, 0, 4}), real({4, 2})}, {real({3, 2, 0}), real({0, 2})}, {repeated({1, 2, 4}, {3, 2, 4}), real({4, 2})}, {real({2, 2, 3}, Domain::large), real({3, 2})}});
  const Samples squares = {{real({3, 3})}, {real({1, 1})}, {real({0, 0})}, {real({4, 4})}, {repeated({1, 3}, {3, 3})}, {real({2, 2}, Domain::large)}};
  summing(rows, "as a trace", "ii", {"ii"}, "", squares).misuses.push_back(misuse<ShapeError>([] { return einsum("ii", {ones({2, 3})}); }, "index 'i' is 2 in operand 0 [2, 3] and 3 in operand 0 [2, 3]"));
  summing(rows, "as a diagonal", "ii->i", {"ii"}, "i", squares);
  summing(rows, "as a transposition", "ij->ji", {"ij"}, "ji", squares);
  summing(rows, "as a transposition, implicit", "ba", {"ba"}, "ab", squares);
  summing(rows, "as it is", "ij->ij", {"ij"}, "ij", squares);
  summing(rows, "of diagonals in three axes", "iji,iii->ji", {"iji", "iii"}, "ji",
          {{real({2, 3, 2}), real({2, 2, 2})}, {real({1, 1, 1}), real({1, 1, 1})}, {real({0, 3, 0}), real({0, 0, 0})}, {real({3, 1, 3}), real({3, 3, 3})}, {real({2, 2, 2}), same_as(0)}, {repeated({1, 3, 1}, {2, 3, 2}), real({2, 2, 2})},
           {real({2, 2, 2}, Domain::large), real({2, 2, 2})}});
  summing(rows, "of four, with sums on the way", "ij,jk,kl,im->lm", {"ij", "jk", "kl", "im"}, "lm",
          {{real({2, 3}), real({3, 4}), real({4, 2}), real({2, 3})}, {real({1, 1}), real({1, 1}), real({1, 1}), real({1, 1})}, {real({2, 0}), real({0, 4}), real({4, 2}), real({2, 3})}, {real({2, 2}), same_as(0), same_as(0), same_as(0)},
           {repeated({1, 3}, {2, 3}), real({3, 1}), real({1, 2}), real({2, 1})}, {real({2, 3}, Domain::large), real({3, 2}), real({2, 2}), real({2, 2})}});
  summing(rows, "of numbers and a vector", ",i,->i", {"", "i", ""}, "i",
          {{real({}), real({3}), real({})}, {real({}), real({1}), real({})}, {real({}), real({0}), real({})}, {real({}), real({5}), same_as(0)}, {real({}), repeated({1}, {4}), real({})}, {real({}), real({4}, Domain::large), real({})}});
  // clang-format on
}

}  // namespace regard::test
