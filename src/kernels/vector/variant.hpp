// What is compiled once per instruction set, in a namespace of that name: the table, and the parts it is put
// together from, one per family of loops.
#pragma once

#include "kernels/vector/table.hpp"

namespace regard::kernels::REGARD_VARIANT {

Table make_table();

void set_elementwise(Table& table);

}  // namespace regard::kernels::REGARD_VARIANT
