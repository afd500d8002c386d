#include "kernels/orthogonal.hpp"

#include <cmath>

namespace regard::kernels {
namespace {

// A row, or a column, of a row-major matrix.
struct Line {
  double* first;
  Size step;
};

double dot(const Line& a, const Line& b, Size n) {
  double sum = 0;
  for (Size i = 0; i < n; ++i) sum += a.first[i * a.step] * b.first[i * b.step];
  return sum;
}

}  // namespace

void orthonormalise(std::vector<double>& matrix, Size rows, Size columns) {
  const bool wide = rows <= columns;
  const Size count = wide ? rows : columns, n = wide ? columns : rows;
  const auto line = [&](Size i) {
    return Line{matrix.data() + i * (wide ? columns : 1), wide ? 1 : columns};
  };
  for (Size r = 0; r < count; ++r) {
    const Line now = line(r);
    // What rounding leaves of the earlier ones after the first time is gone after the second.
    for (int time = 0; time < 2; ++time)
      for (Size other = 0; other < r; ++other) {
        const Line earlier = line(other);
        const double along = dot(now, earlier, n);
        for (Size i = 0; i < n; ++i) now.first[i * now.step] -= along * earlier.first[i * earlier.step];
      }
    const double length = std::sqrt(dot(now, now, n));
    for (Size i = 0; i < n; ++i) now.first[i * now.step] /= length;
  }
}

}  // namespace regard::kernels
