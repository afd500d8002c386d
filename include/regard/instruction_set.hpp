// Which of the processor's vector instructions the kernels use.
#pragma once

#include <string>
#include <vector>

#include <regard/export.hpp>

namespace REGARD_API regard {

/// The instruction set in use: "baseline" (SSE2 on x86-64), "avx2" (with FMA) or "avx512" (F, CD, DQ, BW, VL); on arm64
/// always "neon". The first computation, or the first call of this, picks the best that the processor has, or the one that
/// the environment variable REGARD_INSTRUCTION_SET names; it stays for as long as the program runs. With one
/// instruction set the same program gives the same bits; another may round differently in the last digits.
/// ValueError when the variable names none, or one that the processor lacks.
[[nodiscard]] std::string instruction_set();
/// What REGARD_INSTRUCTION_SET may name on this processor, the best last.
[[nodiscard]] std::vector<std::string> available_instruction_sets();

}  // namespace regard
