#pragma once
// What an answer gives beside what it should give, in small numbers.

#include <string>

#include "lessons/27_exercises/hidden_tests/marks.hpp"

namespace exercises {

/// Panels as SVG, a row for each exercise: yours, and what differences or the library say. An answer that is
/// not written, or that throws, is a panel without numbers.
[[nodiscard]] std::string picture(const lessons::Lesson& lesson, const Answers& answers);

}  // namespace exercises
