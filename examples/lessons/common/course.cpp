#include "lessons/common/course.hpp"

#include <regard/numpy_random.hpp>
#include <regard/ops.hpp>

namespace lessons {

using regard::Size;
using regard::Tensor;

namespace {

// Drawn one after the other: the order is part of the example.
void draw_weights(Course& course, regard::NumpyRng& rng, double size) {
  const Size width = course.x.size(-1);
  for (Tensor* w : {&course.w_q, &course.w_k, &course.w_v}) *w = size * rng.randn({width, width});
}

}  // namespace

Course three_tokens(std::uint64_t seed) {
  return around(regard::tensor({{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}}), {"the", "cat", "sat"}, seed);
}

Course around(const Tensor& x, const Labels& tokens, std::uint64_t seed) {
  Course course{tokens, x, {}, {}, {}};
  regard::NumpyRng rng = regard::Rng::numpy(seed);
  draw_weights(course, rng, 0.5);
  return course;
}

Course two_sequences() {
  regard::NumpyRng rng = regard::Rng::numpy(42);
  Course course{numbered("", 5), rng.randn({2, 5, 8}), {}, {}, {}};
  draw_weights(course, rng, 0.1);
  return course;
}

}  // namespace lessons
