#include <regard/regard.hpp>

double slope_of_square(double at) {
  const regard::Parameter x(regard::scalar(at));
  regard::backward(regard::square(x));
  return x.gradient().item();
}
