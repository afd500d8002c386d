// The expected texts are what NumPy 2.4 prints (str) for the same arrays.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <sstream>
#include <string>

#include <regard/autograd.hpp>
#include <regard/ops.hpp>

#include "support/tensors.hpp"

namespace regard {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Printed {
  std::string what;
  Tensor x;
  std::string text;
};

TEST(Print, AsNumPyDoes) {
  const Printed cases[] = {
      // clang-format off
    {"Whole numbers keep the point", tensor({1, 2, 3}),
     "[1. 2. 3.]"},
    {"Matrix", tensor({{1, 2}, {3, 4}}),
     "[[1. 2.]\n"
     " [3. 4.]]"},
    {"Column width", tensor({{1, -2.5}, {100, 0.125}}),
     "[[  1.     -2.5  ]\n"
     " [100.      0.125]]"},
    {"Eight places", tensor({1.0 / 3, 0.1 + 0.2, 2}),
     "[0.33333333 0.3        2.        ]"},
    {"Rounding", tensor({0.123456785, 0.000123456789, 0.1}),
     "[0.12345678 0.00012346 0.1       ]"},
    {"Just positional", tensor({0.0001, 0.05}),
     "[0.0001 0.05  ]"},
    {"Just scientific, small", tensor({0.00009, 0.05}),
     "[9.e-05 5.e-02]"},
    {"Just positional, large", tensor({99999999, 1e5}),
     "[99999999.   100000.]"},
    {"Just scientific, large", tensor({1e8, 1e6}),
     "[1.e+08 1.e+06]"},
    {"Ratio of 1000", tensor({1, 1000}),
     "[   1. 1000.]"},
    {"Ratio above 1000", tensor({1, 1000.5}),
     "[1.0000e+00 1.0005e+03]"},
    {"Scientific places", tensor({1.0 / 3, -12345.678901234, 0}),
     "[ 3.33333333e-01 -1.23456789e+04  0.00000000e+00]"},
    {"Exponent of three digits", tensor({1e-5, 1e100, -1e-300}),
     "[ 1.e-005  1.e+100 -1.e-300]"},
    {"Extremes", tensor({5e-324, 1.7976931348623157e308}),
     "[4.94065646e-324 1.79769313e+308]"},
    {"NaN and infinity", tensor({nan, 1, inf, -inf}),
     "[ nan   1.  inf -inf]"},
    {"NaN among long numbers", tensor({nan, 1.0 / 3}),
     "[       nan 0.33333333]"},
    {"Only NaN", tensor({nan, nan}),
     "[nan nan]"},
    {"Only infinities", tensor({inf, -inf, nan}),
     "[ inf -inf  nan]"},
    {"NaN and exponents", tensor({nan, 1e-10}),
     "[   nan 1.e-10]"},
    {"Minus zero", tensor({-0.0, 0.0}),
     "[-0.  0.]"},
    {"float32 shortest", tensor({0.1, 0.2, 1.0 / 3}, float32),
     "[0.1        0.2        0.33333334]"},
    {"float32 from 1e6 on, unlike float64", tensor({1377000, 138500}, float32), "[1.377e+06 1.385e+05]"},
      {"float32 scientific", tensor({1e-7, 16777216, 3.4e38}, float32),
     "[1.0000000e-07 1.6777216e+07 3.4000000e+38]"},
    {"float32 tie of threshold", tensor({0.0001, 1e-3}, float32),
     "[0.0001 0.001 ]"},
    {"int64", tensor({{1, -20}, {300, 4}}, int64),
     "[[  1 -20]\n"
     " [300   4]]"},
    {"booleans", tensor({true, false}, boolean),
     "[ True False]"},
    {"boolean matrix", tensor({{true, true}, {false, true}}, boolean),
     "[[ True  True]\n"
     " [False  True]]"},
    {"empty", zeros({0}),
     "[]"},
    {"empty rows", zeros({0, 3}),
     "[]"},
    {"empty columns", zeros({2, 0}),
     "[]"},
    {"one element", tensor({7}),
     "[7.]"},
    {"rank 0", scalar(1),
     "1.0"},
    {"rank 0, all digits", scalar(0.1 + 0.2),
     "0.30000000000000004"},
    {"rank 0, small", scalar(0.00001234),
     "1.234e-05"},
    {"rank 0, small positional", scalar(0.0001),
     "0.0001"},
    {"rank 0, large", scalar(1e16),
     "1e+16"},
    {"rank 0, large positional", scalar(123456789012345),
     "123456789012345.0"},
    {"rank 0, one digit and an exponent", scalar(-1e-7),
     "-1e-07"},
    {"rank 0, float32", scalar(0.1, float32),
     "0.1"},
    {"rank 0, float32 large", scalar(123456789, float32),
     "1.2345679e+08"},
    {"rank 0, float32 at 1e-4", scalar(1e-4, float32),
     "1e-04"},
    {"rank 0, int64", scalar(-5, int64),
     "-5"},
    {"rank 0, boolean", scalar(1, boolean),
     "True"},
    {"rank 0, nan", scalar(nan),
     "nan"},
    {"rank 0, minus infinity", scalar(-inf),
     "-inf"},
    {"rank 3", tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}),
     "[[[1. 2.]\n"
     "  [3. 4.]]\n"
     "\n"
     " [[5. 6.]\n"
     "  [7. 8.]]]"},
    {"rank 4", tensor({{{{1}, {2}}}, {{{3}, {4}}}}),
     "[[[[1.]\n"
     "   [2.]]]\n"
     "\n"
     "\n"
     " [[[3.]\n"
     "   [4.]]]]"},
    {"line of 75", arange(30),
     "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
     " 24 25 26 27 28 29]"},
    {"lines with decimals", arange(0, 3, 0.1),
     "[0.  0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.  1.1 1.2 1.3 1.4 1.5 1.6 1.7\n"
     " 1.8 1.9 2.  2.1 2.2 2.3 2.4 2.5 2.6 2.7 2.8 2.9]"},
    {"wide words", tensor({{1.0 / 3, -1e10, 1e-10, 1e200, 5, 6}, {1, 2, 3, 4, 5, 6}}),
     "[[ 3.33333333e-001 -1.00000000e+010  1.00000000e-010  1.00000000e+200\n"
     "   5.00000000e+000  6.00000000e+000]\n"
     " [ 1.00000000e+000  2.00000000e+000  3.00000000e+000  4.00000000e+000\n"
     "   5.00000000e+000  6.00000000e+000]]"},
    {"1001 are not", arange(1001),
     "[   0    1    2 ...  998  999 1000]"},
    {"corners", eye(40),
     "[[1. 0. 0. ... 0. 0. 0.]\n"
     " [0. 1. 0. ... 0. 0. 0.]\n"
     " [0. 0. 1. ... 0. 0. 0.]\n"
     " ...\n"
     " [0. 0. 0. ... 1. 0. 0.]\n"
     " [0. 0. 0. ... 0. 1. 0.]\n"
     " [0. 0. 0. ... 0. 0. 1.]]"},
    {"corners, only the long axis shortened", zeros({2, 600}),
     "[[0. 0. 0. ... 0. 0. 0.]\n"
     " [0. 0. 0. ... 0. 0. 0.]]"},
    {"corners in rank 3", zeros({8, 7, 20}),
     "[[[0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  ...\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]]\n"
     "\n"
     " [[0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  ...\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]]\n"
     "\n"
     " [[0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  ...\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]]\n"
     "\n"
     " ...\n"
     "\n"
     " [[0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  ...\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]]\n"
     "\n"
     " [[0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  ...\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]]\n"
     "\n"
     " [[0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  ...\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]\n"
     "  [0. 0. 0. ... 0. 0. 0.]]]"},
    {"shortened floats look at what is shown", arange(0, 2000, 1, float32),
     "[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03]"},
      // clang-format on
  };
  for (const Printed& c : cases) EXPECT_EQ(to_string(c.x), c.text) << c.what;
}

TEST(Print, ShortensAboveThousandElements) {
  const std::string all = to_string(arange(1000));
  EXPECT_EQ(all.find("..."), std::string::npos);
  EXPECT_EQ(all.substr(all.size() - 5), " 999]");
  EXPECT_EQ(to_string(arange(1001)), "[   0    1    2 ...  998  999 1000]");
}

TEST(Print, FollowsStrides) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  for (const test::Layout layout : test::all_layouts)
    EXPECT_EQ(to_string(test::with_layout(x, layout)), to_string(x));
  EXPECT_EQ(to_string(test::stretched(tensor({1, 2}), {2, 2})), "[[1. 2.]\n [1. 2.]]");
}

TEST(Print, StreamsTheSame) {
  std::ostringstream out;
  out << tensor({1, 2}) << " " << scalar(3, int64) << " " << Tensor();
  EXPECT_EQ(out.str(), "[1. 2.] 3 undefined");
}

// A gradient or a place in a graph changes nothing.
TEST(Print, DoesNotMindAGraph) {
  const Tensor x = variable(tensor({1, 2}));
  EXPECT_EQ(to_string(x * 2.0), "[2. 4.]");
}

}  // namespace
}  // namespace regard
