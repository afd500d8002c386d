#include "support/close.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "support/tensors.hpp"
#include "tensor/impl.hpp"

namespace regard::test {
namespace {

std::string kind(const Tensor& x) {
  return std::string(name(x.dtype())) + " " + to_string(x.shape());
}

::testing::AssertionResult same_kind(const char* a_text, const char* b_text, const Tensor& a,
                                     const Tensor& b) {
  if (!a.defined() || !b.defined())
    return ::testing::AssertionFailure() << (a.defined() ? b_text : a_text) << " is an empty handle";
  if (a.dtype() != b.dtype() || a.shape() != b.shape())
    return ::testing::AssertionFailure()
           << a_text << " is " << kind(a) << ", but " << b_text << " is " << kind(b);
  return ::testing::AssertionSuccess();
}

std::string at(Size place, const Shape& shape) {
  return to_string(Sizes(unravel(place, shape)));
}

}  // namespace

::testing::AssertionResult tensors_near(const char* a_text, const char* b_text, const char* rtol_text,
                                        const char* atol_text, const Tensor& a, const Tensor& b, double rtol,
                                        double atol) {
  if (const auto same = same_kind(a_text, b_text, a, b); !same) return same;
  const std::vector<double> in_a = values_of(a), in_b = values_of(b);
  Size worst = -1, wrong = 0;
  double worst_excess = 0;
  for (std::size_t i = 0; i < in_a.size(); ++i) {
    if (in_a[i] == in_b[i] || (std::isnan(in_a[i]) && std::isnan(in_b[i]))) continue;
    const double allowed = atol + rtol * std::fabs(in_b[i]);
    double excess = std::fabs(in_a[i] - in_b[i]) / allowed;
    if (std::isnan(excess) || std::isinf(in_a[i]) || std::isinf(in_b[i]))
      excess = std::numeric_limits<double>::infinity();
    if (excess <= 1) continue;
    ++wrong;
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = static_cast<Size>(i);
    }
  }
  if (wrong == 0) return ::testing::AssertionSuccess();
  const auto place = static_cast<std::size_t>(worst);
  return ::testing::AssertionFailure()
         << wrong << " of " << a.numel() << " elements of " << a_text << " and " << b_text
         << " differ; worst at " << at(worst, a.shape()) << " of " << kind(a) << ": " << in_a[place]
         << " and " << in_b[place] << ", " << std::fabs(in_a[place] - in_b[place]) << " apart, allowed "
         << atol + rtol * std::fabs(in_b[place]) << " (rtol " << rtol_text << ", atol " << atol_text << ")";
}

::testing::AssertionResult same_bits(const char* a_text, const char* b_text, const Tensor& a,
                                     const Tensor& b) {
  if (const auto same = same_kind(a_text, b_text, a, b); !same) return same;
  const Tensor in_a = a.detach().contiguous(), in_b = b.detach().contiguous();
  const auto item = static_cast<std::size_t>(item_size(a.dtype()));
  const auto* const bytes_a = static_cast<const unsigned char*>(detail::array(in_a).data);
  const auto* const bytes_b = static_cast<const unsigned char*>(detail::array(in_b).data);
  for (Size i = 0; i < a.numel(); ++i) {
    const std::size_t byte = static_cast<std::size_t>(i) * item;
    if (std::memcmp(bytes_a + byte, bytes_b + byte, item) == 0) continue;
    return ::testing::AssertionFailure()
           << a_text << " and " << b_text << " differ in bits, first at " << at(i, a.shape()) << " of "
           << kind(a) << ": " << a.at(unravel(i, a.shape())) << " and " << b.at(unravel(i, b.shape()));
  }
  return ::testing::AssertionSuccess();
}

}  // namespace regard::test
