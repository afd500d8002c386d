// A piece of work that is timed beside another library's.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <regard/dtype.hpp>
#include <regard/named.hpp>

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
/// What a block cannot do without: calls of BLAS and copies.
void add_bare(Works& works);
/// Steps of the demo's models, and whole runs of it.
void add_demo(Works& works);
/// What another library needs to do a step or the runs of the demo too, and the losses that it has to see.
regard::NamedTensors demo_data(const std::string& work, regard::DType dtype);

}  // namespace beside
