#include <regard/random.hpp>

double draw(std::uint64_t seed) {
  return regard::Rng(seed).uniform();
}
