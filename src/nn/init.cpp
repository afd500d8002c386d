#include <regard/nn/init.hpp>

#include <cmath>
#include <vector>

#include <regard/error.hpp>
#include <regard/named.hpp>
#include <regard/ops.hpp>

namespace regard::nn {
namespace {

Tensor zeros_of(const Shape& shape, Rng&, DType dtype) {
  return zeros(shape, dtype);
}

Tensor identity(const Shape& shape, Rng&, DType dtype) {
  if (shape.rank() != 2) throw ShapeError("initial: identity needs a matrix, got " + to_string(shape));
  return equal(expand_dims(arange(shape[0]), {1}), arange(shape[1])).to(dtype);
}

struct Row {
  const char* name;
  Init init;
  Tensor (*make)(const Shape& shape, Rng& rng, DType dtype);
};

// clang-format off
const Row table[] = {
    {"glorot_uniform", Init::glorot_uniform, glorot_uniform},     {"xavier_uniform", Init::glorot_uniform, glorot_uniform},
    {"glorot_normal", Init::glorot_normal, glorot_normal},        {"xavier_normal", Init::glorot_normal, glorot_normal},
    {"kaiming_uniform", Init::kaiming_uniform, kaiming_uniform},  {"kaiming_normal", Init::kaiming_normal, kaiming_normal},
    {"orthogonal", Init::orthogonal, orthogonal},                 {"identity", Init::identity, identity},
    {"zeros", Init::zeros, zeros_of},                             {"normal", Init::normal, nullptr}};
// clang-format on

}  // namespace

Init init(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& row : table) {
    if (name == row.name) return row.init;
    names.emplace_back(row.name);
  }
  throw ValueError("init: there is no \"" + name + "\"; there are: " + detail::list_names(names));
}

Tensor initial(const Shape& shape, Init init, double deviation, DType dtype, Rng& rng) {
  for (const Row& row : table)
    if (row.init == init && row.make) return row.make(shape, rng, dtype);
  if (init != Init::normal) throw ValueError("initial: there is no such Init");
  if (!(deviation >= 0) || !std::isfinite(deviation))
    throw ValueError("initial: the deviation must be finite and not negative, got " +
                     std::to_string(deviation));
  return normal(shape, rng, 0, deviation, dtype);
}

}  // namespace regard::nn
