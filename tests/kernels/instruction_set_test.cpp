// The choice of an instruction set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <regard/error.hpp>
#include <regard/instruction_set.hpp>
#include <regard/ops.hpp>

#include "kernels/instruction_set.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

#if defined(__aarch64__)
const std::string first = "neon";
#else
const std::string first = "baseline";
#endif

TEST(InstructionSet, OneIsAlwaysThereAndComesFirst) {
  ASSERT_FALSE(available_instruction_sets().empty());
  EXPECT_EQ(available_instruction_sets().front(), first);
}

TEST(InstructionSet, TheBestIsChosenUnlessOneIsNamed) {
  const std::vector<std::string> here = available_instruction_sets();
  EXPECT_EQ(kernels::choose_instruction_set(nullptr).name, here.back());
  EXPECT_EQ(kernels::choose_instruction_set("").name, here.back());
  for (const std::string& name : here) EXPECT_EQ(kernels::choose_instruction_set(name.c_str()).name, name);
}

TEST(InstructionSet, ANameThatIsNoneIsRefused) {
  EXPECT_THROWS_WITH(kernels::choose_instruction_set("sse9"), ValueError, "REGARD_INSTRUCTION_SET=sse9");
  EXPECT_THROWS_WITH(kernels::choose_instruction_set("AVX2"), ValueError, "name one of " + first);
}

// A program under the variable says so; run by ctest once per set.
TEST(InstructionSet, TheVariableIsHonoured) {
  const char* const wanted = std::getenv("REGARD_INSTRUCTION_SET");
  EXPECT_EQ(instruction_set(), wanted ? std::string(wanted) : available_instruction_sets().back());
}

}  // namespace
}  // namespace regard
