#include "kernels/dropout.hpp"

#include <regard/random.hpp>

#include "kernels/loops.hpp"

namespace regard::kernels {
namespace {

template <class T>
void dropout_kernel(const Call& c) {
  const Dropout& dropout = c.get<Dropout>();
  const auto key = static_cast<std::uint64_t>(*c.in(1).as<Size>());
  const T scale = static_cast<T>(dropout.scale);
  T* const out = c.out().as<T>();
  const T* const in = c.in(0).as<T>();
  const Walk<2> walk({&c.out(), &c.in(0)});
  parallel_ranges(walk.size(), 1, computed, [&](Size begin, Size end) {
    if (begin == end) return;
    Size place = begin;  // rows come in row-major order
    for_each_row<2>(walk, begin, end, [&](const auto& at, Size n, const auto& step) {
      std::array<std::uint32_t, 4> words{};
      for (Size i = 0; i < n; ++i, ++place) {
        const auto counter = static_cast<std::uint64_t>(place);
        if (i == 0 || counter % 4 == 0) words = philox_block(key, 0, counter / 4);
        const bool dropped = words[static_cast<std::size_t>(counter % 4)] < dropout.threshold;
        out[at[0] + i * step[0]] = dropped ? T{0} : in[at[1] + i * step[1]] * scale;
      }
    });
  });
}

}  // namespace

const KernelSet dropout = {dropout_kernel<float>, dropout_kernel<double>};

}  // namespace regard::kernels
