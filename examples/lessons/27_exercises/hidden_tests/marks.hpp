#pragma once
// Marks answers to the exercises. Reading how spoils nothing but the fun.

#include <functional>
#include <string>
#include <vector>

#include <regard/regard.hpp>

#include "lessons/common/lesson.hpp"

namespace exercises {

struct Answers {
  std::function<regard::Tensor(const regard::Tensor& y, const regard::Tensor& dy)> softmax_vjp;
  std::function<regard::Tensors(const regard::Tensor& a, const regard::Tensor& b, const regard::Tensor& dy)>
      matmul_vjp;
  std::function<regard::Tensor(const regard::Tensor& scores, const regard::Tensor& keep)> masked_softmax;
  std::function<regard::Tensor(const regard::Tensor& x, double cap)> soft_cap;
};
/// What the reader wrote, what is in solutions/, and a mistake that is often made in each.
[[nodiscard]] Answers yours();
[[nodiscard]] Answers reference();
[[nodiscard]] Answers mistaken();

enum class State { not_yet, right, wrong };

struct Mark {
  std::string exercise;
  State state = State::not_yet;
  int passed = 0, tests = 0;
  lessons::Text test;  ///< the first that failed
  std::string where;   ///< the place, what came out there and what should have
  lessons::Text hint;  ///< if the answer is a mistake that is known; may be empty
};

/// One for each exercise, in their order. An answer may do anything: what it throws is reported as wrong.
[[nodiscard]] std::vector<Mark> mark(const Answers& answers);

}  // namespace exercises
