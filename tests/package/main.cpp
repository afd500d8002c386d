// What goes through a library's edge: values, gradients, and an exception caught by its type.
#include <regard/regard.hpp>

#include <cstdio>

#ifdef PACKAGE_VERSION  // as the package tells it
static_assert(REGARD_VERSION == PACKAGE_VERSION, "the package is of another version than its headers");
#endif

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
