// Attention of three tokens by hand: every number between the embeddings and the output, one operation at a
// time.
#include <algorithm>
#include <cmath>
#include <tuple>

#include <regard/regard.hpp>
#include <regard/study/panels.hpp>

#include "lessons/common/course.hpp"
#include "lessons/common/lesson.hpp"
#include "lessons/common/read_matrix.hpp"

using namespace regard;
using namespace lessons;

int main(int argc, char** argv) {
  Lesson lesson(
      argc, argv, {"Three tokens by hand", "Ba token, tính tay"},
      {"Q, K, V, scores, scale, mask, softmax, output: seven steps, and every number of each.",
       "Q, K, V, điểm, chia thang, mặt nạ, softmax, đầu ra: bảy bước, và mọi con số của từng bước."});
  std::string file;
  Labels tokens;
  std::uint64_t seed = 0;
  bool identity = false, no_mask = false;
  lesson.flags().add_option("--x", file,
                            lesson.pick("embeddings of your own: a text file, a row per token",
                                        "embedding của bạn: tệp văn bản, mỗi token một hàng"));
  lesson.flags()
      .add_option("--tokens", tokens, lesson.pick("names of the rows of x", "tên các hàng của x"))
      ->delimiter(',');
  lesson.flags()
      .add_option("--seed", seed, lesson.pick("of W_Q, W_K and W_V", "của W_Q, W_K và W_V"))
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{0xffffffff}))
      ->capture_default_str();
  lesson.flags().add_flag("--identity", identity, "W_Q = W_K = W_V = I");
  lesson.flags().add_flag("--no-mask", no_mask,
                          lesson.pick("every token sees all", "token nào cũng thấy tất cả"));

  return lesson.run([&] {
    Course course = three_tokens(seed);
    if (!file.empty()) {
      const Tensor x = read_matrix(file);
      course = around(x, numbered("t", x.size(0)), seed);
    }
    const Size count = course.x.size(0), width = course.x.size(1);
    if (!tokens.empty()) course.tokens = tokens;
    if (static_cast<Size>(course.tokens.size()) != count)
      throw UsageError(fmt::format("--tokens: {} names for the {} rows of x", course.tokens.size(), count));
    if (identity) course.w_q = course.w_k = course.w_v = eye(width);
    const Labels& names = course.tokens;
    const std::string last = names.back();

    lesson.heading("1. Three views of every token", "1. Ba góc nhìn của mỗi token");
    lesson.say(
        "Each row of X is one token. Three matrices turn it into what it asks (Q), what it can be found by "
        "(K) and "
        "what it gives (V). Training would learn them; here they are drawn at random, so the weights mean "
        "nothing "
        "yet, but every step is the real one.",
        "Mỗi hàng của X là một token. Ba ma trận biến nó thành điều nó hỏi (Q), nhãn để tìm ra nó (K) và "
        "điều nó "
        "đưa ra (V). Huấn luyện sẽ học ba ma trận này; ở đây chúng là ngẫu nhiên, nên trọng số chưa có ý "
        "nghĩa, "
        "nhưng bước nào cũng là bước thật.");
    lesson.show("X", "", course.x, names);
    lesson.show("W_Q", identity ? "I" : "", course.w_q);
    lesson.show("W_K", identity ? "I" : "", course.w_k);
    lesson.show("W_V", identity ? "I" : "", course.w_v);
    const Tensor q = matmul(course.x, course.w_q), k = matmul(course.x, course.w_k),
                 v = matmul(course.x, course.w_v);
    lesson.show("Q", "X·W_Q", q, names);
    lesson.show("K", "X·W_K", k, names);
    lesson.show("V", "X·W_V", v, names);

    lesson.heading("2. Scores: every query with every key", "2. Điểm: mỗi query với mỗi key");
    const Tensor raw = matmul(q, transpose(k));
    std::string products;
    for (Size d = 0; d < std::min<Size>(width, 8); ++d)
      products += fmt::format("{}({:.4f})({:.4f})", d > 0 ? " + " : "", q.at({-1, d}), k.at({0, d}));
    lesson.say(
        "A score is a dot product: large when two vectors point the same way. The first one of the last row:",
        "Điểm là một tích vô hướng: lớn khi hai vectơ cùng hướng. Điểm đầu tiên của hàng cuối:");
    lesson.formula(fmt::format("Q[{}]·K[{}] = {}{} = {:.4f}", last, names[0], products,
                               width > 8 ? " + …" : "", raw.at({-1, 0})));
    lesson.show("raw_scores", "Q·Kᵀ", raw, names, names);

    lesson.heading("3. Scale: divided by √d_k", "3. Chia thang: chia cho √d_k");
    lesson.say(
        fmt::format(
            "A dot product of {0} numbers grows like √{0}; the division keeps softmax from saturating.",
            width),
        fmt::format("Tích vô hướng của {0} số lớn dần như √{0}; phép chia giữ cho softmax khỏi bão hòa.",
                    width));
    const Tensor scaled = raw / std::sqrt(static_cast<double>(width));
    lesson.show("scaled_scores", fmt::format("raw_scores / √{}", width), scaled, names, names);

    lesson.heading("4. Mask: no one sees the future", "4. Mặt nạ: không ai thấy tương lai");
    const Mask mask = no_mask ? Mask::none() : Mask::causal();
    lesson.say(
        no_mask ? "--no-mask: nothing is hidden."
                : "A score above the diagonal becomes -∞: exp(-∞) is exactly 0.",
        no_mask ? "--no-mask: không che gì." : "Điểm nằm trên đường chéo trở thành -∞: exp(-∞) đúng bằng 0.");
    lesson.print(mask, count, count);
    const Tensor keep = no_mask ? ones({count, count}, boolean) : tril(ones({count, count})).to(boolean);
    const Tensor masked = masked_fill(scaled, logical_not(keep), -INFINITY);
    lesson.show("masked", "scaled_scores + mask", masked, names, names);

    lesson.heading("5. Softmax: scores become shares", "5. Softmax: điểm thành phần chia");
    lesson.say(
        "Each row: subtract its largest score, so that exp cannot overflow; take exp; divide by the sum.",
        "Mỗi hàng: trừ đi điểm lớn nhất để exp không tràn số; lấy exp; chia cho tổng.");
    const Tensor exponentials = exp(masked - max(masked, {-1}, keep_axes));
    lesson.show("exp", "exp(masked - max of the row)", exponentials, names, names);
    const Tensor weights = exponentials / sum(exponentials, {-1}, keep_axes);
    lesson.look_for(
        no_mask
            ? "how each row shares out its 1 among all tokens."
            : fmt::format("the first row: \"{}\" has nothing but itself to look at. Only the last row sees "
                          "every token.",
                          names[0]),
        no_mask ? "mỗi hàng chia số 1 của mình cho mọi token như thế nào."
                : fmt::format("hàng đầu: \"{}\" chỉ có chính nó để nhìn. Chỉ hàng cuối thấy mọi token.",
                              names[0]));
    lesson.show("weights", "exp / sum of the row", weights, names, names);
    lesson.attention(attention_panel("", names, names, weights, keep));

    lesson.heading("6. Output: the values, mixed", "6. Đầu ra: các value được pha trộn");
    std::string mix;
    for (Size j = 0; j < std::min<Size>(count, 6); ++j)
      mix += fmt::format("{}{:.4f}·V[{}]", j > 0 ? " + " : "", weights.at({-1, j}),
                         names[static_cast<std::size_t>(j)]);
    lesson.formula(fmt::format("output[{}] = {}{}", last, mix, count > 6 ? " + …" : ""));
    const Tensor output = matmul(weights, v);
    lesson.show("output", "weights·V", output, names);

    lesson.heading("7. Checks", "7. Kiểm tra");
    lesson.at_most("every row of the weights adds up to 1; largest difference",
                   "mọi hàng của trọng số cộng lại bằng 1; sai khác lớn nhất",
                   largest(sum(weights, {-1}) - 1.0), 1e-14);
    const double future = largest(triu(weights, 1));
    if (!no_mask) {
      lesson.claim("what the mask hides has weight exactly 0", "chỗ bị che có trọng số đúng bằng 0",
                   future == 0, future);
      lesson.claim(fmt::format("\"{}\" looks at itself with weight exactly 1", names[0]),
                   fmt::format("\"{}\" nhìn chính nó với trọng số đúng bằng 1", names[0]),
                   weights.at({0, 0}) == 1, weights.at({0, 0}));
    }
    AttentionTrace trace;
    const Tensor at_once = attention(q, k, v, mask, {}, &trace);
    lesson.at_most("attention(q, k, v, mask) in one call gives the same output; relative difference",
                   "attention(q, k, v, mask) gọi một lần cho cùng đầu ra; sai khác tương đối",
                   largest_difference(at_once, output) / std::max(1.0, largest(output)), 1e-12);
    lesson.at_most("and the same weights; largest difference", "và cùng trọng số; sai khác lớn nhất",
                   largest_difference(matrix(trace.weights), weights), 1e-12);
    lesson.say("Now try embeddings of your own (--x FILE --tokens …), --identity and --no-mask.",
               "Giờ hãy thử embedding của bạn (--x TỆP --tokens …), --identity và --no-mask.");

    study::PanelsOptions picture;
    picture.title =
        lesson.pick("Embedding × matrix = query, key, value", "Embedding × ma trận = query, key, value");
    picture.language = lesson.language();
    picture.per_row = 3;
    const Labels dimensions = Labels(static_cast<std::size_t>(width));
    std::vector<study::MatrixPanel> projections;
    for (const auto& [name, w, product] :
         {std::tuple{"Q", course.w_q, q}, std::tuple{"K", course.w_k, k}, std::tuple{"V", course.w_v, v}}) {
      projections.push_back(panel("X", names, dimensions, course.x));
      projections.push_back(panel(std::string("W_") + name, dimensions, dimensions, w));
      projections.back().arrow = "×";
      projections.push_back(panel(std::string(name) + " = X·W_" + name, names, dimensions, product));
      projections.back().arrow = "=";
    }
    lesson.picture("projections", panels_svg(projections, picture));

    std::vector<study::MatrixPanel> steps = {
        panel(lesson.pick("scores", "điểm"), names, names, raw),
        panel(lesson.pick("scaled", "chia thang"), names, names, scaled),
        panel(lesson.pick("masked", "che"), names, names, scaled, keep),
        weights_panel(lesson.pick("weights", "trọng số"), names, names, weights, keep),
        panel(lesson.pick("output", "đầu ra"), names, dimensions, output)};
    steps[1].arrow = fmt::format("÷ √{}", width);
    steps[2].arrow = lesson.pick("mask", "mặt nạ");
    steps[3].arrow = "softmax";
    steps[4].arrow = "· V";
    picture.title = lesson.pick("From scores to output", "Từ điểm đến đầu ra");
    picture.per_row = 0;
    lesson.picture("steps", panels_svg(steps, picture));
  });
}
