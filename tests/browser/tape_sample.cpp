// Writes the walks that tape_check.sh opens in a browser: tape_sample FOLDER
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>

#include <regard/regard.hpp>
#include <regard/study/tape_walk.hpp>

namespace {

using namespace regard;

// An attention with a mask, values that are no numbers, a name that would end a script, and a step of an
// optimiser.
void write_strange(const std::filesystem::path& page) {
  Parameter w(tensor({{0.5, -1.25e-7}, {3e7, -2}}), "</script><b>w</b>");
  const Tensor x = variable(tensor({{1, 2}, {std::nan(""), 4}, {INFINITY, -1}}));
  Sgd optimizer({w}, {});
  TapeRecorder tape(TapeKeep::values);
  const Tensor h = matmul(x, w), y = attention(h, h, h, Mask::causal());
  const Tensor loss = mean(square(y) * 0.125);
  backward(loss);
  optimizer.step();
  tape.stop();
  study::TapeWalk walk(tape, "vi");
  walk.name("x", x);
  walk.name("h", h);
  walk.name("ỹ", y);
  study::TapePageOptions options;
  options.title = "</script><b>Băng tính</b>";
  options.description = "Từng bước một";
  study::write_tape_html(page, walk, options);
}

void write_samples(const std::filesystem::path& folder) {
  write_strange(folder / "strange.html");
  {
    TapeRecorder tape(TapeKeep::values);
    const Tensor many = exp(zeros({2, 3, 40})) + 1.0, none = exp(zeros({0, 3}));
    study::write_tape_html(folder / "large.html", study::TapeWalk(tape));
  }
  const TapeRecorder empty(TapeKeep::values);
  study::write_tape_html(folder / "empty.html", study::TapeWalk(empty));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: tape_sample FOLDER\n", stderr);
    return 2;
  }
  try {
    write_samples(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tape_sample: %s\n", error.what());
    return 1;
  }
}
