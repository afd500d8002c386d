// Twin of the dropout mask: it follows from the draw and the position, one word of the stream per element.
#pragma once

#include <cstdint>

#include <regard/random.hpp>

namespace regard::test {

inline bool is_dropped(std::uint64_t key, std::size_t place, double p) {
  return static_cast<double>(philox_word(key, 0, place)) / 4294967296.0 < p;  // 2^32
}

}  // namespace regard::test
