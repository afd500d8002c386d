// W_Q = W_K = W_V = I: attention by the likeness of raw embeddings, which is symmetric. Then why two matrices
// are learned and not one.
#include <cmath>

#include <regard/regard.hpp>
#include <regard/study/heatmap.hpp>
#include <regard/study/panels.hpp>

#include "lessons/common/course.hpp"
#include "lessons/common/lesson.hpp"

using namespace regard;
using namespace lessons;

namespace {

// Three unit vectors that are not at right angles, so that tokens are a little alike.
Tensor unit_embeddings() {
  NumpyRng rng = Rng::numpy(1);
  const Tensor x = rng.randn({3, 4});
  return x / norm(x, {-1}, keep_axes);
}

double asymmetry(const Tensor& s) {
  return largest_difference(s, transpose(s));
}

// In how many rows does the target get most of the attention?
Size right_rows(const Tensor& weights, const Tensor& targets) {
  return static_cast<Size>(sum(equal(argmax(weights), targets).to(int64)).item());
}

struct Run {
  study::AttentionFilm film;
  Tensor scores, weights;
  double loss = 0;
};

// Trains the matrices, from I on, so that token i looks at targets[i]. With one Parameter in both places the
// score is symmetric and stays so.
Run train(const Tensor& x, const Tensor& targets, Parameter& w_q, Parameter& w_k, const Labels& names,
          const std::string& title) {
  AdamOptions options;
  options.learning_rate = 0.1;
  Adam optimizer(w_q.same_as(w_k) ? std::vector<Parameter>{w_q} : std::vector<Parameter>{w_q, w_k}, options);
  Run run;
  run.film.title = title;
  for (Size step = 0; step <= 200; ++step) {
    const Tensor scores = matmul(matmul(x, w_q), transpose(matmul(x, w_k))) / 2.0;
    const Tensor loss = cross_entropy(scores, targets);
    if (step == 0 || step == 10 || step == 50 || step == 200) {
      study::AttentionFrame frame;
      frame.step = step;
      frame.measures["loss"] = loss.item();
      frame.sentences = {{"a b c", {attention_panel("", names, names, softmax(scores.detach()))}}};
      run.film.frames.push_back(frame);
    }
    run.scores = scores.detach();
    run.loss = loss.item();
    optimizer.zero_grad();
    backward(loss);
    optimizer.step();
  }
  run.weights = softmax(run.scores);
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  Lesson lesson(
      argc, argv, {"Attention without matrices", "Attention không có ma trận"},
      {"With W_Q = W_K = W_V = I a token looks at what is like itself. Learning has to break that symmetry.",
       "Khi W_Q = W_K = W_V = I, token nhìn thứ giống nó. Học là phải phá vỡ sự đối xứng ấy."});
  return lesson.run([&] {
    lesson.heading("The three tokens, with identity matrices", "Ba token, với ma trận đơn vị");
    const Course course = three_tokens();
    const Labels& names = course.tokens;
    lesson.show("X", "", course.x, names);
    AttentionTrace causal, full;
    const Tensor output_causal = attention(course.x, course.x, course.x, Mask::causal(), {}, &causal);
    const Tensor output_full = attention(course.x, course.x, course.x, Mask::none(), {}, &full);
    const Tensor s = matrix(full.scaled);
    lesson.show("scaled_scores", "X·Xᵀ/√4", s, names, names);
    lesson.look_for(
        "the mirror: score(cat, sat) = score(sat, cat). And the diagonal: how much a token is like itself is "
        "the square of its length, so a long token scores high with everyone.",
        "tấm gương: điểm(cat, sat) = điểm(sat, cat). Và đường chéo: token giống chính nó bao nhiêu là bình "
        "phương độ dài của nó, nên token dài được điểm cao với mọi token.");
    lesson.show("weights_full", "softmax(scaled_scores)", matrix(full.weights), names, names);
    lesson.show("weights_causal",
                lesson.pick("the same with the causal mask", "như trên, có mặt nạ nhân quả"),
                matrix(causal.weights), names, names);
    lesson.keep("output_full", output_full);
    lesson.keep("output_causal", output_causal);
    lesson.claim("the scores are symmetric, exactly", "điểm đối xứng, chính xác", asymmetry(s) == 0,
                 asymmetry(s));
    lesson.claim("the weights are not: each row is divided by a sum of its own",
                 "trọng số thì không: mỗi hàng được chia cho tổng riêng của nó",
                 asymmetry(matrix(full.weights)) > 0.1, asymmetry(matrix(full.weights)));
    lesson.claim("\"sat\" likes \"cat\" as much as itself: \"cat\" is longer",
                 "\"sat\" hợp với \"cat\" ngang với chính nó: \"cat\" dài hơn", s.at({2, 1}) == s.at({2, 2}),
                 fmt::format("{} = {}", s.at({2, 1}), s.at({2, 2})));

    lesson.heading("Equal lengths: the diagonal wins", "Độ dài bằng nhau: đường chéo thắng");
    lesson.say(
        "With vectors of length 1 a score is a cosine, and no cosine is above 1: every token looks at itself "
        "most.",
        "Với các vectơ độ dài 1, điểm là một cosin, và không cosin nào vượt quá 1: token nào cũng nhìn mình "
        "nhiều "
        "nhất.");
    const Labels letters = {"a", "b", "c"};
    const Tensor x = unit_embeddings();
    const Tensor cosines = matmul(x, transpose(x));
    lesson.show("cosines", "x·xᵀ", cosines, letters, letters);
    lesson.at_most("they are symmetric; largest difference", "chúng đối xứng; sai khác lớn nhất",
                   asymmetry(cosines), 1e-15);
    lesson.claim("in every row the diagonal is the largest", "hàng nào số trên đường chéo cũng lớn nhất",
                 right_rows(cosines, arange(3)) == 3, fmt::format("{} / 3", right_rows(cosines, arange(3))));

    lesson.heading("A task that a mirror cannot solve", "Một bài toán mà tấm gương không giải được");
    lesson.say(
        "Let a look at b, b at c and c at a. With symmetric scores that is impossible: a prefers b to c, b "
        "prefers c to "
        "a, c prefers a to b, so s(ab) > s(ac) = s(ca) > s(cb) = s(bc) > s(ba) = s(ab), and no number is "
        "larger than "
        "itself. One matrix for queries and keys alike (W_Q = W_K) cannot do it, however long it is trained.",
        "Cho a nhìn b, b nhìn c và c nhìn a. Điểm đối xứng thì không thể: a thích b hơn c, b thích c hơn a, "
        "c thích a hơn "
        "b, nên s(ab) > s(ac) = s(ca) > s(cb) = s(bc) > s(ba) = s(ab), mà không số nào lớn hơn chính nó. Một "
        "ma trận dùng "
        "chung cho query và key (W_Q = W_K) không làm được, học bao lâu cũng vậy.");
    const Tensor targets = tensor({1, 2, 0}, int64);
    Parameter shared(eye(4), "W");
    const Run one = train(x, targets, shared, shared, letters,
                          lesson.pick("One matrix for queries and keys", "Một ma trận cho cả query và key"));
    Parameter w_q(eye(4), "W_Q"), w_k(eye(4), "W_K");
    const Run two = train(x, targets, w_q, w_k, letters, lesson.pick("Two matrices", "Hai ma trận"));

    lesson.say("Both after 200 steps of Adam, from the identity on:",
               "Cả hai sau 200 bước Adam, bắt đầu từ ma trận đơn vị:");
    lesson.show("shared_weights", "softmax(scores),  W_Q = W_K", one.weights, letters, letters);
    lesson.show("weights", "softmax(scores),  W_Q, W_K", two.weights, letters, letters);
    Table table(
        {"", lesson.pick("loss", "mất mát"), lesson.pick("rows right", "số hàng đúng"), "max |S - Sᵀ|"});
    for (const auto& [name, run] : {std::pair{lesson.pick("one matrix", "một ma trận"), &one},
                                    std::pair{lesson.pick("two matrices", "hai ma trận"), &two}})
      table.row({name, fmt::format("{:.4f}", run->loss),
                 fmt::format("{} / 3", right_rows(run->weights, targets)),
                 fmt::format("{:.2g}", asymmetry(run->scores))});
    lesson.print(table);
    lesson.at_most("with one matrix the scores are still symmetric; largest difference",
                   "với một ma trận, điểm vẫn đối xứng; sai khác lớn nhất", asymmetry(one.scores), 1e-14);
    lesson.say(
        "It does no better than looking at everyone alike (loss ln 3): with one matrix a score is a product "
        "of two "
        "vectors made alike, so s(ab) ≤ (s(aa) + s(bb))/2. No two tokens can prefer each other to "
        "themselves.",
        "Nó không làm được gì hơn là nhìn mọi token như nhau (mất mát ln 3): với một ma trận, điểm là tích "
        "của hai vectơ "
        "tạo ra cùng một cách, nên s(ab) ≤ (s(aa) + s(bb))/2. Không có hai token nào thích nhau hơn thích "
        "chính mình.");
    lesson.at_least("the loss with one matrix stays at ln 3 or above",
                    "mất mát với một ma trận luôn từ ln 3 trở lên", one.loss, std::log(3.0) - 1e-12);
    lesson.claim("and at least one token looks the wrong way", "và ít nhất một token nhìn sai chỗ",
                 right_rows(one.weights, targets) < 3,
                 fmt::format("{} / 3", right_rows(one.weights, targets)));
    lesson.at_least("with two matrices training breaks the symmetry; largest difference",
                    "với hai ma trận, huấn luyện phá vỡ đối xứng; sai khác lớn nhất", asymmetry(two.scores),
                    1);
    double least = 1;
    for (Size row = 0; row < 3; ++row) least = std::min(least, two.weights.at({row, (row + 1) % 3}));
    lesson.at_least("and every token looks where it should; smallest weight",
                    "và token nào cũng nhìn đúng chỗ; trọng số nhỏ nhất", least, 0.95);

    study::PanelsOptions picture;
    picture.title =
        lesson.pick("Scores: a mirror, and the mirror broken", "Điểm: tấm gương, và tấm gương vỡ");
    picture.language = lesson.language();
    lesson.picture(
        "scores",
        panels_svg({panel("x·xᵀ", letters, letters, cosines),
                    panel(lesson.pick("one matrix", "một ma trận"), letters, letters, one.scores),
                    panel(lesson.pick("two matrices", "hai ma trận"), letters, letters, two.scores)},
                   picture));
    study::AttentionPictureOptions strip;
    strip.steps = {0, 10, 50, 200};
    strip.language = lesson.language();
    lesson.picture("one_matrix", attention_svg(one.film, strip));
    lesson.picture("two_matrices", attention_svg(two.film, strip));
  });
}
