// A piece of work that is timed beside another library's.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <regard/dtype.hpp>

namespace beside {

struct Work {
  std::function<void()> run;
  double units = 1;  ///< into which its time is divided, such as the operations of a chain
};

/// Prepared when asked for, in float32 or float64.
using Works = std::map<std::string, std::function<Work(regard::DType)>>;

/// Single operations and products, and what bare memory and BLAS need for the same.
void add_operations(Works& works);
/// Steps of training, and attention over a long text.
void add_models(Works& works);

}  // namespace beside
