// Steps of training that are always the same, for scripts/check-instructions to count.
//   fixed_step WORK STEPS   lesson_eager, lesson_replayed or batch_64_eager, float32, one thread
//   fixed_step --key        what the counts depend on: compiler, BLAS and processor
#include "models/one_head.hpp"

#include <cstdio>
#include <string>

namespace {

using namespace regard;  // NOLINT: a program

void run(const hand_written::OneHeadSizes& n, bool replay, int steps) {
  set_blas_threads(1);
  Rng rng(1);
  const models::OneHead model(n, rng, float32);
  Adam adam(model.parameters());
  const Tensor ids = uniform({n.batch, n.tokens}, rng, 0, static_cast<double>(n.vocabulary)).to(int64);
  const auto step = [&](const Tensors& in) {
    adam.zero_grad();
    const Tensor loss = model(in[0], in[0]);
    backward(loss);
    adam.step();
    return Tensors{loss};
  };
  CapturedStep captured = capture(step);
  for (int i = 0; i < steps; ++i)
    replay ? static_cast<void>(captured.replay({ids})) : static_cast<void>(step({ids}));
}

std::string compiler() {
#if defined(__clang__)
  const std::string name = "clang-" + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
#else
  const std::string name = "gcc-" + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#endif
#if defined(NDEBUG)
  return name;
#else
  return name + "-debug";
#endif
}

/// "OpenBLAS 0.3.21 NO_LAPACKE ..." -> "OpenBLAS-0.3.21".
std::string blas() {
  std::string text = blas_description();
  const std::size_t gap = text.find(' ');
  if (gap == std::string::npos) return text;
  text[gap] = '-';
  return text.substr(0, text.find(' '));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string work = count > 1 ? arguments[1] : "";
  if (work == "--key") {
#if defined(__x86_64__)
    std::printf("%s %s x86_64\n", compiler().c_str(), blas().c_str());
#else
    std::printf("%s %s other\n", compiler().c_str(), blas().c_str());
#endif
    return 0;
  }
  const int steps = count > 2 ? std::stoi(arguments[2]) : 0;
  if (work == "lesson_eager")
    run({2, 5, 8, 11}, false, steps);
  else if (work == "lesson_replayed")
    run({2, 5, 8, 11}, true, steps);
  else if (work == "batch_64_eager")
    run({64, 12, 32, 40}, false, steps);
  else
    return std::fputs("fixed_step: lesson_eager, lesson_replayed or batch_64_eager, and how many steps\n",
                      stderr),
           2;
}
