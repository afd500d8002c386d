#include "kernels/vector/variant.hpp"

namespace regard::kernels::REGARD_VARIANT {

Table make_table() {
  Table table;
  set_elementwise(table);
  return table;
}

}  // namespace regard::kernels::REGARD_VARIANT
