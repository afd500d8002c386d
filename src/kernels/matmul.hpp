// Products of batches of matrices.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// Attribute: alpha·op(A)·op(B), where op swaps the last two axes if asked.
struct Product {
  bool transpose_a = false, transpose_b = false;
  double alpha = 1;
};
inline std::string to_text(const Product& at) {
  std::string text = std::string(at.transpose_a ? "aᵀ·" : "a·") + (at.transpose_b ? "bᵀ" : "b");
  return at.alpha == 1 ? text : text + ", " + named_number("alpha", at.alpha);
}

/// [.., m, k] x [.., k, n] -> [.., m, n] after op. The leading axes of the inputs stretch to the output's,
/// which is row-major. Every extent after op fits BLAS's 32 bits.
extern const KernelSet product;
/// (a, b, c) -> c + the product, in c's own memory. The same bits as both one after the other, as long as alpha is 1 and
/// BLAS sums over so few that it does so at once: see adds_at_once().
extern const KernelSet product_added;
inline bool adds_at_once(Size inner, double alpha) {
  return alpha == 1 && inner <= 256;
}

/// `add`: to what `out` holds.
template <class T>
void multiply(const Array& out, const Array& a, const Array& b, const Product& how, bool add = false);

/// The leading axes of x, but for the last `inner`, stretched to `batch`: one element per matrix.
Array batch_of(const Array& x, const Shape& batch, int inner = 2);

}  // namespace regard::kernels
