#include "op_table/samples.hpp"
#include "op_table/table.hpp"

namespace regard::test {
namespace {

/// NumPy's matmul in three loops.
Plain matmul_twin(Plain a, Plain b) {
  const bool row = a.shape.rank() == 1, column = b.shape.rank() == 1;
  if (row) a.shape.insert(0, 1);
  if (column) b.shape.push_back(1);
  const auto leading = [](const Plain& x) {
    Shape shape = x.shape;
    shape.erase(shape.rank() - 1);
    shape.erase(shape.rank() - 1);
    return shape;
  };
  const Size n = a.shape[a.shape.rank() - 2], k = a.shape.back(), m = b.shape.back();
  Shape shape = common_shape(leading(a), leading(b));
  shape.push_back(n);
  shape.push_back(m);
  Plain out = fill(shape, [&](const Index& at) {
    const auto last = static_cast<int>(at.size()) - 1;
    double sum = 0;
    for (Size i = 0; i < k; ++i) {
      // The inner axis is no axis of the result: look each operand up under an index of its own.
      const Index in_a = with(at, last, i), in_b = with(at, last - 1, i);
      const auto element = [](const Plain& x, const Index& index) {
        const std::size_t extra = index.size() - static_cast<std::size_t>(x.shape.rank());
        Index own;
        for (int axis = 0; axis < x.shape.rank(); ++axis) {
          const bool stretched = axis < x.shape.rank() - 2 && x.shape[axis] == 1;
          own.push_back(stretched ? 0 : index[extra + static_cast<std::size_t>(axis)]);
        }
        return x.at(own);
      };
      sum += element(a, in_a) * element(b, in_b);
    }
    return sum;
  });
  if (row) out.shape.erase(out.shape.rank() - 2);
  if (column) out.shape.erase(out.shape.rank() - 1);
  return out;
}

Row& product(Rows& rows, const char* name, Tensor (*call)(Inputs), Plain (*twin)(PlainInputs),
             Samples samples) {
  Row row;
  row.name = name;
  row.call = call;
  row.twin = twin;
  row.samples = std::move(samples);
  row.misuses = {
      misuse<ShapeError>(
          [] {
            return matmul(ones({2, 5, 8}), ones({4, 8}));
          },
          "matmul: expected [.., n, k] x [.., k, m], got [2, 5, 8] x [4, 8]: inner axes 8 and 4 differ"),
      misuse<ShapeError>([] { return matmul(scalar(1), ones({2})); }, "multiply() scales"),
      misuse<ShapeError>(
          [] {
            return matmul(ones({2, 3, 4}), ones({3, 4, 5}));
          },
          "do not broadcast"),
      misuse<DTypeError>(
          [] {
            return matmul(ones({2, 2}), ones({2, 2}, float32));
          },
          "float64 [2, 2] and float32 [2, 2]"),
      misuse<DTypeError>(
          [] {
            return matmul(ones({2, 2}, int64), ones({2, 2}, int64));
          },
          "int64"),
  };
  // Sums of products in another order than BLAS's, in float32: relative to the largest, not to one that
  // cancels.
  rows.push_back(row);
  return rows.back();
}

}  // namespace

void add_product_rows(Rows& rows) {
  // clang-format off
  product(rows, "matmul", [](Inputs x) { return matmul(x[0], x[1]); }, [](PlainInputs x) { return matmul_twin(x[0], x[1]); },
          {{real({3, 4}), real({4, 2})}, {real({1, 1}), real({1, 1})}, {real({2, 0}), real({0, 3})}, {real({0, 2}), real({2, 3})}, {real({2, 3}), real({3, 0})},
           {real({3, 3}), same_as(0)}, {repeated({1, 4}, {3, 4}), real({4, 2})}, {real({3, 4}), repeated({4, 1}, {4, 5})},
           {real({3, 4}, Domain::large), real({4, 2}, Domain::large)}, {real({5, 1}), real({1, 3})}});
  product(rows, "matmul batched", [](Inputs x) { return matmul(x[0], x[1]); }, [](PlainInputs x) { return matmul_twin(x[0], x[1]); },
          {{real({2, 3, 4}), real({2, 4, 2})}, {real({2, 3, 4}), real({4, 2})}, {real({3, 4}), real({2, 4, 2})}, {real({2, 1, 3, 4}), real({3, 4, 2})},
           {real({1, 1, 1}), real({1, 1, 1})}, {real({0, 2, 3}), real({3, 2})}, {real({2, 2, 3}), real({0, 1, 3, 2})}, {real({2, 0, 3}), real({3, 2})},
           {real({2, 3, 3}), same_as(0)}, {repeated({1, 3, 2}, {2, 3, 2}), real({2, 2, 2})}, {real({2, 3, 4}, Domain::large), real({4, 2})},
           {real({2, 3, 2, 2}), real({2, 3, 2, 2})}});
  product(rows, "matmul of vectors", [](Inputs x) { return matmul(x[0], x[1]); }, [](PlainInputs x) { return matmul_twin(x[0], x[1]); },
          {{real({4}), real({4})}, {real({3, 4}), real({4})}, {real({4}), real({4, 2})}, {real({2, 3, 4}), real({4})}, {real({4}), real({2, 4, 3})},
           {real({1}), real({1})}, {real({0}), real({0})}, {real({3, 0}), real({0})}, {real({4}), same_as(0)}, {repeated({1}, {4}), real({4})},
           {real({5}, Domain::large), real({5}, Domain::large)}});
  product(rows, "matmul with its own transpose", [](Inputs x) { return matmul(x[0], transpose(x[0])); },
          [](PlainInputs x) {
            Shape shape = x[0].shape;
            std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
            const Plain turned = fill(shape, [&](Index at) { std::swap(at[at.size() - 1], at[at.size() - 2]); return x[0].at(at); });
            return matmul_twin(x[0], turned);
          },
          {{real({3, 4})}, {real({1, 1})}, {real({0, 3})}, {real({3, 0})}, {real({2, 3, 2})}, {repeated({1, 4}, {3, 4})}, {real({2, 3}, Domain::large)}});
  // clang-format on
}

}  // namespace regard::test
