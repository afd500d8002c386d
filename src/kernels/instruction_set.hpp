// The instruction sets that the loops in kernels/vector are compiled for, and the choice of one at run time.
#pragma once

#include <vector>

#include "kernels/vector/table.hpp"

namespace regard::kernels {

struct InstructionSet {
  const char* name;
  bool (*is_here)();  ///< does this processor have it?
  Table (*make_table)();
};

/// Those of the processor, the best last.
std::vector<InstructionSet> instruction_sets_here();

/// The one that is called `wanted`, the best where that is null or empty. ValueError where it is not to be
/// had.
InstructionSet choose_instruction_set(const char* wanted);

}  // namespace regard::kernels
