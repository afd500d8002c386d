// What a block costs at the least: calls of BLAS for its products, and for all else copies of what is read
// and written.
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "beside/work.hpp"
#include "hand_written/parts.hpp"

namespace beside {
namespace {

using hand_written::Size;
using hand_written::Turn;

constexpr Size batch = 16, tokens = 128, width = 256, heads = 8, head_width = width / heads,
               inner = 4 * width;
constexpr Size rows = batch * tokens;

/// Calls of BLAS over operands that nothing else uses, as large as the largest product needs.
template <class T>
class Products {
 public:
  Products() {
    for (std::vector<T>& each : x_) each.assign(static_cast<std::size_t>(rows * inner), T(0.5));
  }
  void run(Turn ta, Turn tb, Size m, Size n, Size k, Size first = 0) {
    product(ta, tb, m, n, k, T{1}, x_[0].data() + first, x_[1].data() + first, T{0}, x_[2].data() + first);
  }

  /// y = x·w, and the gradients of both.
  void linear(Size in, Size out) {
    run(Turn::no, Turn::no, rows, out, in);
    run(Turn::no, Turn::yes, rows, in, out);
    run(Turn::yes, Turn::no, in, out, rows);
  }

  /// Scores and mix of each head, and the gradients of both: with `blocks` of rows, of which each leaves out
  /// the keys behind its own, or with one.
  void attention(Size blocks) {
    const Size queries = tokens / blocks;
    for (Size head = 0; head < batch * heads; ++head)
      for (Size block = 0; block < blocks; ++block) {
        const Size keys = (block + 1) * queries, first = head * tokens * head_width;
        for (int i = 0; i < 2; ++i) {  // scores; gradients of the weights
          run(Turn::no, Turn::yes, queries, keys, head_width, first);
          run(Turn::no, Turn::no, queries, head_width, keys, first);   // the mix; gradients of queries
          run(Turn::yes, Turn::no, keys, head_width, queries, first);  // those of values and keys
        }
      }
  }

 private:
  std::array<std::vector<T>, 3> x_;
};

/// What operations read and write, each number once: a copy moves twice what it is given.
template <class T>
class Copies {
 public:
  Copies() : from_(static_cast<std::size_t>(rows * inner * 3), T(1)), to_(from_) {}
  void moved(Size numbers) {
    std::memcpy(to_.data(), from_.data(), static_cast<std::size_t>(numbers / 2) * sizeof(T));
    asm volatile("" : : "r"(to_.data()) : "memory");
  }

 private:
  std::vector<T> from_, to_;
};

template <class T>
Work bare_block(Size blocks) {
  const auto products = std::make_shared<Products<T>>();
  const auto copies = std::make_shared<Copies<T>>();
  return {[=] {
    for (int i = 0; i < 4; ++i) products->linear(width, width);  // queries, keys, values, what comes out
    products->attention(blocks);
    products->linear(width, inner);
    products->linear(inner, width);
    const Size state = rows * width, hidden = rows * inner, weights = batch * heads * tokens * tokens;
    for (int i = 0; i < 2; ++i) {
      copies->moved(2 * state), copies->moved(3 * state);  // layer norm, its gradient
      copies->moved(3 * state), copies->moved(3 * state);  // x + f(x), and the sum of the gradients of x
    }
    for (int i = 0; i < 5; ++i) copies->moved(2 * state), copies->moved(state);  // biases, sums of gradients
    copies->moved(2 * hidden), copies->moved(hidden);
    copies->moved(2 * hidden), copies->moved(3 * hidden);    // gelu
    copies->moved(2 * weights), copies->moved(3 * weights);  // softmax
  }};
}

}  // namespace

void add_bare(Works& works) {
  for (const auto& [name, blocks] : {std::pair{"block_bare", Size{1}}, {"block_bare_causal", Size{4}}})
    works[name] = [blocks = blocks](regard::DType dtype) {
      return dtype == regard::float32 ? bare_block<float>(blocks) : bare_block<double>(blocks);
    };
}

}  // namespace beside
