#include <regard/ops.hpp>
#include <regard/xtensor.hpp>

int main() {
  const regard::Tensor x = regard::tensor({{1, 2, 3}, {4, 5, 6}});
  const regard::Tensor y = regard::from_xtensor(regard::as_xtensor<double>(x) + 1.0);
  return y.at({1, 2}) == 7 ? 0 : 1;
}
