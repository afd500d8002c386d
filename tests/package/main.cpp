// What goes through a library's edge: values, gradients, and an exception caught by its type.
#include <regard/regard.hpp>

#include <cstdio>

double slope_of_square(double at);

int main() {
  if (slope_of_square(3) != 6) return 1;
  try {
    const regard::Tensor sum = regard::zeros({2, 3}) + regard::zeros({4});
    return 2;
  } catch (const regard::ShapeError& error) {
    std::printf("%s\n", error.what());
    return 0;
  }
}
