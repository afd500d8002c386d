// The attention layer of two real models, GPT-2 small and Llama-3-8B, built at full size: its parameters, the
// arithmetic for a sequence, the memory that grows with N², the cache that grows with N, and one forward
// pass.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/regard.hpp>
#include <regard/study/curves.hpp>

#include "lessons/common/lesson.hpp"

using namespace regard;
using lessons::Lesson;
using lessons::Table;

namespace {

struct LayerSizes {
  std::string name;
  Size width, heads, kv_heads, head_width;
  Size layers, context;  // of the whole model
  bool bias, rotary;
};

const LayerSizes gpt2 = {"GPT-2 small", 768, 12, 12, 64, 12, 1024, true, false};
const LayerSizes llama = {"Llama-3-8B", 4096, 32, 8, 128, 32, 8192, false, true};

// ---- by formula ----------------------------------------------------------------------------------------

/// Columns of W_Q and rows of W_O; columns of W_K and of W_V.
Size query_columns(const LayerSizes& s) {
  return s.heads * s.head_width;
}
Size key_columns(const LayerSizes& s) {
  return s.kv_heads * s.head_width;
}
Size weight_count(const LayerSizes& s) {
  return s.width * (2 * query_columns(s) + 2 * key_columns(s));
}
Size bias_count(const LayerSizes& s) {
  return s.bias ? query_columns(s) + 2 * key_columns(s) + s.width : 0;
}

/// Every weight is multiplied and added once per token.
double projection_flops(const LayerSizes& s, double tokens) {
  return 2 * tokens * static_cast<double>(weight_count(s));
}
/// Q·Kᵀ and P·V: each head has N x N products of length d_k, twice; the half that a causal mask hides is
/// counted too.
double square_flops(const LayerSizes& s, double tokens) {
  return 4 * tokens * tokens * static_cast<double>(query_columns(s));
}
/// The weights P of one layer, all heads, in float32.
double weight_bytes(const LayerSizes& s, double tokens) {
  return 4 * static_cast<double>(s.heads) * tokens * tokens;
}
/// Keys and values of one layer, two bytes a number.
double cache_bytes(const LayerSizes& s, double tokens) {
  return 2 * 2 * static_cast<double>(key_columns(s)) * tokens;
}
/// Where the part that grows with N² overtakes the projections.
double crossing(const LayerSizes& s) {
  return static_cast<double>(weight_count(s)) / (2 * static_cast<double>(query_columns(s)));
}

// ---- as built ------------------------------------------------------------------------------------------

nn::MultiHeadAttention build(const LayerSizes& s) {
  nn::MultiHeadAttentionOptions options;
  options.kv_heads = s.kv_heads;
  options.key_width = options.value_width = s.head_width;
  options.bias = s.bias;
  options.rotary = s.rotary;
  options.dtype = float32;
  Rng rng(1);
  return nn::MultiHeadAttention(s.width, s.heads, rng, options);
}

/// Multiplications and additions of the products that ran: 2·(numbers in the result)·(length of the sums).
double flops_on(const TapeRecorder& tape) {
  double flops = 0;
  for (const Step& step : tape.steps())
    if (step.op == "matmul" || step.op == "masked_scores" || step.op == "masked_mix")
      flops += 2.0 * static_cast<double>(numel(step.outputs[0].shape)) *
               static_cast<double>(step.inputs[0].shape.back());
  return flops;
}

struct Run {
  double seconds, flops;
};

/// One forward pass, the faster of two.
Run run(const nn::MultiHeadAttention& layer, const LayerSizes& s, Size tokens) {
  const NoGrad no_grad;
  Rng rng(2);
  const Tensor x = normal({1, tokens, s.width}, rng, 0, 1, float32);
  Run best{1e9, 0};
  for (int repeat = 0; repeat < 2; ++repeat) {
    const TapeRecorder tape;
    const auto started = std::chrono::steady_clock::now();
    const Tensor y = layer(x, Mask::causal());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    best = {std::min(best.seconds, took.count()), flops_on(tape)};
  }
  return best;
}

// ---- text ----------------------------------------------------------------------------------------------

std::string count_text(double value) {
  constexpr const char* units[] = {"", " k", " M", " G", " T"};
  int unit = 0;
  for (; value >= 1000 && unit < 4; ++unit) value /= 1000;
  return fmt::format("{:.{}f}{}", value, unit == 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0, units[unit]);
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, bytes < 10 ? 2 : bytes < 100 ? 1 : 0, units[unit]);
}

void parameters_of(Lesson& lesson, const std::vector<LayerSizes>& models,
                   std::vector<nn::MultiHeadAttention>& layers) {
  lesson.heading("Parameters", "Tham số");
  lesson.say(
      "Each head has its own d_k columns of W_Q. In Llama four query heads share a key and value head (GQA), "
      "so W_K and W_V are a quarter as wide. GPT-2 adds a bias to all four projections, Llama to none.",
      "Mỗi head có d_k cột riêng trong W_Q. Ở Llama, bốn head query dùng chung một head key và value (GQA), "
      "nên W_K và W_V chỉ rộng bằng một phần tư. GPT-2 cộng bias ở cả bốn phép chiếu, Llama thì không.");
  Table table({"", "D", lesson.pick("heads x d_k", "head x d_k"), "W_Q", "W_K", "W_V", "W_O", "bias",
               lesson.pick("one layer", "một lớp")});
  for (std::size_t i = 0; i < models.size(); ++i) {
    const LayerSizes& s = models[i];
    const nn::MultiHeadAttention& layer = layers[i];
    const auto shape = [](const nn::Linear& linear) { return to_string(linear.weight.shape()); };
    table.row({s.name, fmt::format("{}", s.width), fmt::format("{} x {}", s.heads, s.head_width),
               shape(layer.query), shape(layer.key), shape(layer.value), shape(layer.output),
               fmt::format("{}", bias_count(s)), fmt::format("{}", parameter_count(layer))});
    lesson.keep(s.name + ", parameters", static_cast<double>(parameter_count(layer)));
  }
  lesson.print(table);
  for (std::size_t i = 0; i < models.size(); ++i) {
    const LayerSizes& s = models[i];
    const Size has = parameter_count(layers[i]), formula = weight_count(s) + bias_count(s);
    lesson.claim(fmt::format("{}: the formula counts what the module has", s.name),
                 fmt::format("{}: công thức đếm đúng số tham số của module", s.name), has == formula,
                 fmt::format("{} = {}", formula, has));
  }
  lesson.claim("these are 4·(768² + 768) and 2·4096² + 2·4096·1024",
               "đó là 4·(768² + 768) và 2·4096² + 2·4096·1024",
               parameter_count(layers[0]) == 2362368 && parameter_count(layers[1]) == 41943040,
               fmt::format("{}, {}", parameter_count(layers[0]), parameter_count(layers[1])));
}

void arithmetic(Lesson& lesson, const std::vector<LayerSizes>& models) {
  lesson.heading("Arithmetic, memory and cache, by the length of the sequence",
                 "Số phép tính, bộ nhớ và cache theo độ dài chuỗi");
  lesson.say(
      "A multiplication and an addition count as 2 FLOP. P are the weights of one layer in float32, if they "
      "are written out; the KV cache is that of all layers, two bytes a number, for one sequence. GPT-2 was "
      "made for up to 1024 tokens, Llama-3 for 8192; longer rows say what they would cost.",
      "Một phép nhân và một phép cộng tính là 2 FLOP. P là trọng số attention của một lớp, float32, nếu ghi "
      "hết ra; KV cache tính cho mọi lớp, mỗi số hai byte, một chuỗi. GPT-2 được làm cho tối đa 1024 token, "
      "Llama-3 cho 8192; các hàng dài hơn là cái giá nếu có.");
  lesson.look_for(
      "projections cost the same for each token. Scores and mix cost each token in proportion to N, the "
      "sequence N²: unnoticed at first, then everything. P grows as fast and the cache only with N.",
      "phép chiếu tốn như nhau cho mỗi token. Score và phép trộn tốn cho mỗi token tỉ lệ với N, cho cả chuỗi "
      "là N²: lúc đầu không đáng kể, về sau là tất cả. P lớn nhanh như vậy, còn cache chỉ lớn theo N.");
  Table table({"", "N", lesson.pick("FLOP, projections", "FLOP, phép chiếu"),
               lesson.pick("FLOP, N² part", "FLOP, phần N²"), lesson.pick("FLOP per token", "FLOP mỗi token"),
               lesson.pick("N² share", "phần N²"), "P", "KV cache"});
  for (const LayerSizes& s : models)
    for (const Size length : {128, 1024, 8192, 131072}) {
      const auto n = static_cast<double>(length);
      const double square = square_flops(s, n), all = projection_flops(s, n) + square;
      table.row({s.name, fmt::format("{}", length), count_text(projection_flops(s, n)), count_text(square),
                 count_text(all / n), fmt::format("{:.0f} %", 100 * square / all),
                 bytes_text(weight_bytes(s, n)),
                 bytes_text(cache_bytes(s, n) * static_cast<double>(s.layers))});
    }
  lesson.print(table);
  for (const LayerSizes& s : models)
    lesson.claim(
        fmt::format("{}: scores and mix overtake the projections at N = {:.0f}", s.name, crossing(s)),
        fmt::format("{}: score và phép trộn vượt phép chiếu từ N = {:.0f}", s.name, crossing(s)),
        std::fabs(square_flops(s, crossing(s)) / projection_flops(s, crossing(s)) - 1) < 1e-12,
        fmt::format("{:.2f}·D; context {}", crossing(s) / static_cast<double>(s.width), s.context));
  const double gib = 1024.0 * 1024 * 1024;
  lesson.claim(
      "Llama at 8192 tokens: P of a single layer would take 8 GiB, which is why nobody writes it out",
      "Llama ở 8192 token: P của chỉ một lớp đã chiếm 8 GiB, nên không ai ghi nó ra",
      weight_bytes(llama, 8192) == 8 * gib, bytes_text(weight_bytes(llama, 8192)));
  LayerSizes all_heads = llama;
  all_heads.kv_heads = llama.heads;
  const double shared = cache_bytes(llama, 8192) * 32, own = cache_bytes(all_heads, 8192) * 32;
  lesson.claim("its KV cache takes 1 GiB; with keys and values for all 32 heads it would be four times that",
               "KV cache của nó chiếm 1 GiB; nếu cả 32 head đều có key và value riêng thì gấp bốn",
               shared == gib && own == 4 * shared,
               fmt::format("{}, {}", bytes_text(shared), bytes_text(own)));
}

/// FLOP per token against the length, both axes logarithmic.
std::string curves(const std::vector<LayerSizes>& models, const Lesson& lesson) {
  std::vector<study::RunCurves> runs(2);
  runs[0].name = lesson.pick("projections", "phép chiếu");
  runs[1].name = lesson.pick("scores and mix", "score và phép trộn");
  study::CurvesOptions options;
  options.measures.clear();
  for (const LayerSizes& s : models) options.measures.push_back(s.name);
  for (double n = 16; n <= 131072; n *= 2) {
    runs[0].steps.push_back(n);
    runs[1].steps.push_back(n);
    for (const LayerSizes& s : models) {
      runs[0].measures[s.name].push_back(projection_flops(s, n) / n);
      runs[1].measures[s.name].push_back(square_flops(s, n) / n);
    }
  }
  options.title =
      lesson.pick("FLOP per token in one attention layer", "FLOP cho mỗi token trong một lớp attention");
  options.language = lesson.language();
  options.x_label = lesson.pick("tokens N", "số token N");
  options.runs = study::Runs::different;
  options.x_scale = options.y_scale = study::AxisScale::logarithmic;
  return study::curves_svg(runs, options);
}

void forward(Lesson& lesson, const std::vector<LayerSizes>& models,
             const std::vector<nn::MultiHeadAttention>& layers) {
  lesson.heading("One forward pass", "Một lượt đi tới");
  lesson.say(
      "The layers as they stand, float32, with random weights. A tape writes down every product that runs, "
      "and its FLOP are added up; the time is this machine's.",
      "Chính các lớp này, float32, trọng số ngẫu nhiên. Một cuộn tape ghi lại mọi phép nhân đã chạy rồi cộng "
      "FLOP; thời gian là của máy này.");
  Table table({"", "N", lesson.pick("FLOP on the tape", "FLOP trên tape"),
               lesson.pick("by formula", "theo công thức"), lesson.pick("seconds", "giây"), "GFLOP/s"});
  bool counted = true;
  for (std::size_t i = 0; i < models.size(); ++i)
    for (const Size tokens : {16, 64}) {
      const Run got = run(layers[i], models[i], tokens);
      const auto n = static_cast<double>(tokens);
      const double formula = projection_flops(models[i], n) + square_flops(models[i], n);
      table.row({models[i].name, fmt::format("{}", tokens), fmt::format("{:.0f}", got.flops),
                 fmt::format("{:.0f}", formula), fmt::format("{:.4f}", got.seconds),
                 fmt::format("{:.0f}", got.flops / got.seconds / 1e9)});
      counted = counted && got.flops == formula;
    }
  lesson.print(table);
  lesson.claim("the tape counts what the formula says, to the last operation",
               "tape đếm đúng như công thức, tới phép tính cuối cùng", counted,
               fmt::format("{} / 4", counted ? 4 : 0));
}

}  // namespace

int main(int argc, char** argv) {
  Lesson lesson(argc, argv,
                {"How large is attention in real models?", "Attention trong model thật lớn cỡ nào?"},
                {"One attention layer of GPT-2 small and of Llama-3-8B: parameters, arithmetic, memory, "
                 "cache, and a forward pass.",
                 "Một lớp attention của GPT-2 small và Llama-3-8B: tham số, số phép tính, bộ nhớ, cache, và "
                 "một lượt đi tới."});
  return lesson.run([&] {
    const std::vector<LayerSizes> models = {gpt2, llama};
    std::vector<nn::MultiHeadAttention> layers;
    for (const LayerSizes& s : models) layers.push_back(build(s));
    parameters_of(lesson, models, layers);
    arithmetic(lesson, models);
    lesson.picture("flops", curves(models, lesson));
    forward(lesson, models, layers);
  });
}
