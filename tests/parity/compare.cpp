#include <algorithm>
#include <cmath>
#include <limits>

#include "parity/parity.hpp"
#include "support/tensors.hpp"

namespace regard::parity {
namespace {

double largest(const Tensor& x) {
  double most = 0;
  for (const double value : test::values_of(x)) most = std::max(most, std::fabs(value));
  return most;
}

std::string kin(const std::string& name) {
  return name.substr(0, name.find('.'));
}

double apart(const Tensor& ours, const Tensor& theirs, double scale) {
  constexpr double infinitely = std::numeric_limits<double>::infinity();
  if (!ours.defined() || ours.shape() != theirs.shape()) return infinitely;
  const std::vector<double> a = test::values_of(ours), b = test::values_of(theirs);
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return infinitely;
    most = std::max(most, std::fabs(a[i] - b[i]));
  }
  return most == 0 ? 0 : most / scale;  // all is 0, and there is no scale
}

}  // namespace

double bound(const std::string& name, DType dtype) {
  if (dtype == float32) return 1e-5;
  return name == "output" ? 1e-12 : 1e-10;
}

std::vector<Difference> differences(const Case& c, const TensorMap& ours, DType dtype) {
  std::map<std::string, double> largest_of_kin;
  for (const auto& [name, theirs] : c.expected) {
    double& most = largest_of_kin[kin(name)];
    most = std::max(most, largest(theirs));
  }
  std::vector<Difference> found;
  for (const auto& [name, theirs] : c.expected) {
    const auto at = ours.find(name);
    const double scale = std::max(largest(theirs), 0.1 * largest_of_kin[kin(name)]);
    found.push_back(
        {name, apart(at == ours.end() ? Tensor() : at->second, theirs, scale), bound(name, dtype)});
  }
  return found;
}

}  // namespace regard::parity
