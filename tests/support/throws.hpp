// Expects an exception of a type, with a fragment in its text.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <type_traits>
#include <typeinfo>

namespace regard::test {

/// Runs `statement`; success when it throws exactly a `Type` (or something derived) whose text holds
/// `fragment`.
template <class Type, class Statement>
::testing::AssertionResult throws_with(const char* source, const std::string& fragment,
                                       Statement&& statement) {
  const auto judge = [&](const std::exception& error, bool right_type) -> ::testing::AssertionResult {
    const bool right_text = std::string(error.what()).find(fragment) != std::string::npos;
    if (right_type && right_text) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << source << "\n  threw " << typeid(error).name() << ": " << error.what()
           << (right_type ? "\n  the text lacks: " + fragment : "\n  another type was expected");
  };
  try {
    statement();
  } catch (const Type& error) {
    return judge(error, true);
  } catch (const std::exception& error) {
    return judge(error, false);
  }
  return ::testing::AssertionFailure() << source << "\n  threw nothing; expected: " << fragment;
}

}  // namespace regard::test

/// The value of an expression is thrown away, so that [[nodiscard]] functions can be called.
#define EXPECT_THROWS_WITH(statement, Type, fragment) \
  EXPECT_TRUE(::regard::test::throws_with<Type>(#statement, fragment, [&] { static_cast<void>(statement); }))
