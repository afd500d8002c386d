#include <regard/random.hpp>

#include <cstdio>
#include <stdexcept>

double draw(std::uint64_t seed);

int main() {
  if (draw(7) != regard::Rng(7).uniform()) return 1;
  try {
    regard::normal_quantile(2);
  } catch (const std::invalid_argument& error) {
    std::printf("%s\n", error.what());
    return 0;
  }
  return 1;
}
