#include "kernels/vector/variant.hpp"

namespace regard::kernels::REGARD_VARIANT {

Table make_table() {
  Table table;
  set_elementwise(table);
  set_sums(table);
  set_softmax(table);
  set_attention(table);
  set_layer_norm(table);
  set_optimise(table);
  set_product(table);
  set_band_product(table);
  return table;
}

}  // namespace regard::kernels::REGARD_VARIANT
