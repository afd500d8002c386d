#include "kernels/large_product.hpp"

#include <algorithm>

#include <regard/instruction_set.hpp>

#include "kernels/parallel.hpp"
#include "memory/pool.hpp"

namespace regard::kernels {
namespace {

// A block of B, depth x columns, stays in the second cache (a quarter of a MiB), and eight rows of A in the
// first.
constexpr Size depth = 256, rows_at_once = 64;
template <class T>
constexpr Size columns_at_once = static_cast<Size>(1024 / sizeof(T));

Size blocks(Size extent, Size size) {
  return (extent + size - 1) / size;
}

/// Rows that lie further apart take turns in the same few places of a cache.
template <class T>
bool is_far(Size step) {
  return step * static_cast<Size>(sizeof(T)) > 2048;
}

/// One operand of a stretch of p: where it lies, or packed.
template <class T>
struct Operand {
  bool packed;
  detail::PoolArray<T> room;

  Operand(bool pack, Size numbers)
      : packed(pack), room(detail::PoolArray<T>::unset(static_cast<std::size_t>(pack ? numbers : 0))) {}
};

/// The stretch of B from p on, blocks of columns one behind the other; each is row-major.
template <class T>
void pack_columns(const SmallProduct<T>& at, Size p, Size length, T* to) {
  parallel_ranges(blocks(at.n, columns_at_once<T>), length * columns_at_once<T>, moved,
                  [&](Size begin, Size end) {
                    for (Size j = begin * columns_at_once<T>; j < std::min(at.n, end * columns_at_once<T>);
                         j += columns_at_once<T>) {
                      const Size columns = std::min(columns_at_once<T>, at.n - j);
                      const T* const from = at.b + p * at.b_row + j * at.b_column;
                      T* const block = to + j * length;
                      if (at.b_column != 1) {
                        rows<T>().turn(columns, length, from, at.b_column, block, columns);
                        continue;
                      }
                      for (Size row = 0; row < length; ++row)
                        std::copy_n(from + row * at.b_row, columns, block + row * columns);
                    }
                  });
}

/// The stretch of A from p on, row-major.
template <class T>
void pack_rows(const SmallProduct<T>& at, Size p, Size length, T* to) {
  parallel_ranges(blocks(at.m, rows_at_once), length * rows_at_once, moved, [&](Size begin, Size end) {
    const Size first = begin * rows_at_once, last = std::min(at.m, end * rows_at_once);
    rows<T>().turn(length, last - first, at.a + first + p * at.a_column, at.a_column, to + first * length,
                   length);
  });
}

}  // namespace

template <class T>
bool is_ours(const SmallProduct<T>& at) {
  static const bool wide = instruction_set() == "avx512";
  const bool enough = at.b_column == 1 || at.a_column == 1 || at.m * at.n * at.k >= 1 << 20;
  return wide && enough && at.m >= 8 && at.n >= 32 && at.k >= 8 && (at.a_column == 1 || at.a_row == 1) &&
         (at.b_column == 1 || at.b_row == 1);
}

template <class T>
void large_product(const SmallProduct<T>& at) {
  const Size longest = std::min(depth, at.k);
  const Operand<T> a(at.a_column != 1 && is_far<T>(at.a_column), at.m * longest);
  const Operand<T> b(at.b_column != 1 || is_far<T>(at.b_row), at.n * longest);
  // Those that follow one another have the same block of B.
  const Size high = blocks(at.m, rows_at_once), all = high * blocks(at.n, columns_at_once<T>);
  for (Size p = 0; p < at.k; p += depth) {
    const Size length = std::min(depth, at.k - p);
    if (a.packed) pack_rows(at, p, length, a.room.data());
    if (b.packed) pack_columns(at, p, length, b.room.data());
    const auto multiply_blocks = [&](Size begin, Size end) {
      for (Size block = begin; block < end; ++block) {
        const Size i = block % high * rows_at_once, j = block / high * columns_at_once<T>;
        const Size height = std::min(rows_at_once, at.m - i), width = std::min(columns_at_once<T>, at.n - j);
        T* const c = at.c + i * at.n + j;
        for (Size row = 0; p == 0 && !at.adds && row < height; ++row)
          std::fill_n(c + row * at.n, width, T{0});
        BandProduct<T> part{height,
                            width,
                            length,
                            at.alpha,
                            at.a + i * at.a_row + p * at.a_column,
                            at.a_row,
                            at.a_column,
                            at.b + p * at.b_row + j,
                            at.b_row,
                            c,
                            at.n,
                            Band{-at.m, at.k}};
        if (a.packed) part.a = a.room.data() + i * length, part.a_row = length, part.a_column = 1;
        if (b.packed) part.b = b.room.data() + j * length, part.b_row = width;
        rows<T>().band_mix(part);
      }
    };
    parallel_ranges(all, rows_at_once * columns_at_once<T> * length, multiplied, multiply_blocks);
  }
}

template bool is_ours<float>(const SmallProduct<float>&);
template bool is_ours<double>(const SmallProduct<double>&);
template void large_product<float>(const SmallProduct<float>&);
template void large_product<double>(const SmallProduct<double>&);

}  // namespace regard::kernels
