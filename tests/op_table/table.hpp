// The op table: one row per way to call an op. The properties in this folder's tests hold for every row; a
// new op is one row, a new property is one test.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/tensors.hpp"
#include "support/throws.hpp"
#include "twins/plain.hpp"

namespace regard::test {

using Inputs = const Tensors&;
using PlainInputs = const Plains&;

/// How an input is made.
struct Input {
  enum class Kind {
    real,        ///< floats from a domain
    ids,         ///< int64 in 0 .. bound - 1
    mask,        ///< booleans
    same,        ///< the tensor of an earlier input once more
    repeated,    ///< floats, stretched to `shape` from `from` by strides of 0
    given,       ///< these values, as floats
    given_ids,   ///< these values, as int64
    given_mask,  ///< these values, as booleans
  };
  Kind kind = Kind::real;
  Shape shape;
  Domain domain = Domain::normal;
  Size bound = 0;
  std::size_t as = 0;
  Shape from;
  std::vector<double> values;
};

// How inputs are written in a row.
inline Input real(const Shape& shape, Domain domain = Domain::normal) {
  Input input;
  input.shape = shape;
  input.domain = domain;
  return input;
}
inline Input ids(const Shape& shape, Size bound) {
  Input input = real(shape);
  input.kind = Input::Kind::ids;
  input.bound = bound;
  return input;
}
inline Input mask(const Shape& shape) {
  Input input = real(shape);
  input.kind = Input::Kind::mask;
  return input;
}
inline Input same_as(std::size_t earlier) {
  Input input;
  input.kind = Input::Kind::same;
  input.as = earlier;
  return input;
}
inline Input repeated(const Shape& from, const Shape& shape, Domain domain = Domain::normal) {
  Input input = real(shape, domain);
  input.kind = Input::Kind::repeated;
  input.from = from;
  return input;
}
inline Input given(const std::vector<double>& values, const Shape& shape) {
  Input input = real(shape);
  input.kind = Input::Kind::given;
  input.values = values;
  return input;
}
inline Input given_ids(const std::vector<double>& values, const Shape& shape) {
  Input input = given(values, shape);
  input.kind = Input::Kind::given_ids;
  return input;
}
inline Input given_mask(const std::vector<double>& values, const Shape& shape) {
  Input input = given(values, shape);
  input.kind = Input::Kind::given_mask;
  return input;
}

/// The inputs of one call. At points where f has a kink or overflows, only values are compared.
struct Sample {
  Sample(std::initializer_list<Input> its_inputs) : inputs(its_inputs) {}  // NOLINT: braces in a row
  std::vector<Input> inputs;
  bool differentiable = true;
};
using Samples = std::vector<Sample>;

inline Sample values_only(Sample sample) {
  sample.differentiable = false;
  return sample;
}

/// A call that must throw.
struct Misuse {
  std::string fragment;
  std::function<::testing::AssertionResult()> check;
};
template <class Type>
Misuse misuse(std::function<Tensor()> call, const std::string& fragment) {
  return {fragment, [call, fragment] {
            return throws_with<Type>(fragment.c_str(), fragment, [&call] { static_cast<void>(call()); });
          }};
}
using Misuses = std::vector<Misuse>;

/// What the numbers of the output are made of.
enum class Precision {
  rounded,  ///< computed: equal to the twin within rounding
  moved,    ///< copied or chosen, in any dtype: equal to the twin in every bit
};

struct Row {
  std::string name;  ///< the function, then perhaps a blank and what is special about this call
  std::function<Tensor(Inputs)> call;
  std::function<Plain(PlainInputs)> twin;
  Samples samples;
  Misuses misuses;
  Precision precision = Precision::rounded;
  bool differentiable = true;  ///< has the output a gradient?
  bool takes_int64 = false;    ///< also on int64, with the same twin
  bool takes_empty = true;     ///< also where there are no elements
  bool takes_one = true;       ///< also where there is one element
  /// Of value and gradient in float32 against float64, relative to the largest element; the reason stands
  /// beside a row that needs another.
  double float32_tolerance = 1e-5;
  /// Of differences in float64 (see GradientOptions).
  double gradient_tolerance = 1e-8;

  std::string function() const { return name.substr(0, name.find(' ')); }
};
using Rows = std::vector<Row>;

/// All rows.
const Rows& op_table();

// One per family, each in a file of its own; they append their rows.
void add_elementwise_rows(Rows& rows);
void add_comparison_rows(Rows& rows);
void add_reduce_rows(Rows& rows);
void add_shape_rows(Rows& rows);
void add_softmax_rows(Rows& rows);
void add_sort_rows(Rows& rows);
void add_product_rows(Rows& rows);
void add_einsum_rows(Rows& rows);
void add_indexing_rows(Rows& rows);
void add_layer_rows(Rows& rows);
void add_loss_rows(Rows& rows);
void add_attention_rows(Rows& rows);
void add_attention_option_rows(Rows& rows);

/// A row's call with one set of inputs made: what a property works on. Inputs that are the same tensor are
/// one here.
struct Case {
  const Row* row;
  const Sample* sample;
  Tensors inputs;  ///< constants

  Tensor operator()(Inputs x) const { return row->call(expand(x)); }
  Plain twin() const;
  FunctionOfMany function() const {
    return [self = *this](const Tensors& x) { return self(x); };
  }
  /// Leaves in place of the floats.
  Tensors leaves() const;
  Tensors expand(Inputs x) const;
};

/// Real values are rounded to float32, so that float32 and float64 start from the same numbers.
Case make_case(const Row& row, const Sample& sample, DType dtype, Layout layout = Layout::row_major);

/// For failure messages: "matmul batched, [2, 3, 4] [4, 5], float32, column-major".
std::string describe(const Case& c);

// GoogleTest prints and names a row by these.
void PrintTo(const Row& row, std::ostream* out);
std::string row_name(const ::testing::TestParamInfo<Row>& info);

/// y, and its gradient in each float input.
Tensors value_and_gradients(const Case& c, const Tensors& in);

}  // namespace regard::test
