// What is compiled once per instruction set, in a namespace of that name: the table, and the parts it is put
// together from, one per family of loops.
#pragma once

#include "kernels/vector/table.hpp"

namespace regard::kernels::REGARD_VARIANT {

Table make_table();

void set_elementwise(Table& table);
void set_sums(Table& table);
void set_softmax(Table& table);
void set_attention(Table& table);
void set_layer_norm(Table& table);
void set_optimise(Table& table);
void set_product(Table& table);
void set_band_product(Table& table);

}  // namespace regard::kernels::REGARD_VARIANT
