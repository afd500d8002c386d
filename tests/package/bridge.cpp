#include <regard/detail/xtensor/array.hpp>

int main() {
  return xt::xarray<double>::from_shape({2, 3}).size() == 6 ? 0 : 1;
}
