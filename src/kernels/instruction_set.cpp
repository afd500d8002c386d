#include "kernels/instruction_set.hpp"

#include <cstdlib>
#include <string>

#include <regard/error.hpp>
#include <regard/instruction_set.hpp>

namespace regard {
namespace kernels {

// Compiled from kernels/vector, once for each.
namespace baseline {
Table make_table();
}
namespace avx2 {
Table make_table();
}
namespace avx512 {
Table make_table();
}
namespace neon {
Table make_table();
}

namespace {

bool always() {
  return true;
}

#if defined(__x86_64__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

// The better the later.
constexpr InstructionSet all_sets[] = {
#if defined(__aarch64__)
    {"neon", always, neon::make_table},
#else
    {"baseline", always, baseline::make_table},
#endif
#if defined(__x86_64__)
    {"avx2", has_avx2, avx2::make_table},
    {"avx512", has_avx512, avx512::make_table},
#endif
};

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

const InstructionSet& in_use() {
  static const InstructionSet chosen = choose_instruction_set(std::getenv("REGARD_INSTRUCTION_SET"));
  return chosen;
}

}  // namespace

std::vector<InstructionSet> instruction_sets_here() {
  std::vector<InstructionSet> here;
  for (const InstructionSet& set : all_sets)
    if (set.is_here()) here.push_back(set);
  return here;
}

InstructionSet choose_instruction_set(const char* wanted) {
  const std::vector<InstructionSet> here = instruction_sets_here();
  const std::string name = wanted ? wanted : "";
  if (name.empty()) return here.back();
  std::string why = "is none that this build knows";
  for (const InstructionSet& set : all_sets) {
    if (name != set.name) continue;
    if (set.is_here()) return set;
    why = "is not to be had: this processor lacks it";
  }
  throw ValueError("REGARD_INSTRUCTION_SET=" + name + " " + why +
                   "; unset the variable for the best, or name one of " +
                   listed(available_instruction_sets()));
}

const Table& table() {
  static const Table chosen = in_use().make_table();
  return chosen;
}

}  // namespace kernels

std::string instruction_set() {
  return kernels::in_use().name;
}

std::vector<std::string> available_instruction_sets() {
  std::vector<std::string> names;
  for (const kernels::InstructionSet& set : kernels::instruction_sets_here()) names.push_back(set.name);
  return names;
}

}  // namespace regard
