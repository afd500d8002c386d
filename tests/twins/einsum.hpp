// The twin of einsum: a loop over every value of every index.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "twins/plain.hpp"

namespace regard::test {

/// The operands' indices are letters, one for each axis; so are those of the result. An axis of extent 1
/// stretches.
inline Plain einsum_twin(const Plains& x, const std::vector<std::string>& labels, const std::string& result) {
  std::map<char, Size> extents;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t axis = 0; axis < labels[i].size(); ++axis) {
      Size& n = extents.insert({labels[i][axis], 1}).first->second;
      if (n == 1) n = x[i].shape[static_cast<int>(axis)];
    }
  std::string all;
  Shape everything, shape;
  for (const auto& [label, n] : extents) {
    all += label;
    everything.push_back(n);
  }
  for (const char label : result) shape.push_back(extents.at(label));
  Plain out(shape);
  for_each_index(everything, [&](const Index& at) {
    const auto place = [&](const std::string& of, const Shape* stretched) {
      Index index;
      for (std::size_t axis = 0; axis < of.size(); ++axis) {
        const bool one = stretched && (*stretched)[static_cast<int>(axis)] == 1;
        index.push_back(one ? 0 : at[all.find(of[axis])]);
      }
      return index;
    };
    double product = 1;
    for (std::size_t i = 0; i < x.size(); ++i) product *= x[i].at(place(labels[i], &x[i].shape));
    out.at(place(result, nullptr)) += product;
  });
  return out;
}

}  // namespace regard::test
