// Embeddings of width 1: a score is a product of two scalars, so only the ends of a line can be looked at.
// One dimension more, and a token can choose.
#include <cmath>

#include <regard/regard.hpp>
#include <regard/study/bars.hpp>
#include <regard/study/panels.hpp>

#include "coreference/lexicon.hpp"
#include "coreference/training.hpp"
#include "lessons/common/lesson.hpp"

using namespace regard;
using namespace lessons;

namespace {

// Which token has the largest score in each row?
std::vector<Size> favourites(const Tensor& scores) {
  return argmax(scores).to_vector<Size>();
}

// Points on the unit circle, the first at the right.
Tensor circle(Size count) {
  std::vector<double> points;
  for (Size i = 0; i < count; ++i)
    for (const double shift : {0.0, -0.25})
      points.push_back(std::cos(2 * M_PI * (static_cast<double>(i) / static_cast<double>(count) + shift)));
  return from_vector(points, {count, 2});
}

Tensor rotation(double turn) {
  const double c = std::cos(2 * M_PI * turn), s = std::sin(2 * M_PI * turn);
  return tensor({{c, s}, {-s, c}});
}

// The demo's agreement task with everything of this width: three nouns of different kinds, and a pronoun that
// fits one of them. The share of new sentences in which the model says the right one of the three.
double candidate_accuracy(Size width, std::uint64_t seed) {
  coreference::ModelSettings model;
  model.task = coreference::Task::agreement;
  model.model = coreference::usual_model(model.task);
  model.width = model.head_width = width;
  coreference::TrainSettings train;
  train.seed = seed;
  train.log_every = train.steps;
  return coreference::TrainingRun(model, train).train().validation.metrics.candidate_accuracy;
}

// What a line allows at best. Put the kinds on it in order; a pronoun of positive weight finds the last of
// the three nouns, one of negative weight the first. Kind r of n is the last of three different ones in
// C(r-1, 2) of C(n-1, 2) cases; the upper half of the kinds does best with the last, the lower half with the
// first.
double best_on_a_line(Size kinds) {
  const auto pairs = [](Size n) { return static_cast<double>(n * (n - 1)) / 2; };
  double right = 0;
  for (Size r = 1; r <= kinds; ++r) right += pairs(std::max(r - 1, kinds - r)) / pairs(kinds - 1);
  return right / static_cast<double>(kinds);
}

}  // namespace

int main(int argc, char** argv) {
  Lesson lesson(
      argc, argv, {"One dimension is not enough", "Một chiều thì không đủ"},
      {"With d_model = 1 a score is a product of two numbers: only sign and size are left to look by.",
       "Với d_model = 1, điểm là tích của hai số: chỉ còn dấu và độ lớn để mà nhìn."});
  return lesson.run([&] {
    lesson.heading("Scores on a line", "Điểm số trên một đường thẳng");
    lesson.say("Five tokens, each a single number. W_Q and W_K are numbers too:",
               "Năm token, mỗi token chỉ là một số. W_Q và W_K cũng là số:");
    lesson.formula("score(i, j) = (w_Q·x_i)·(w_K·x_j) / √1");
    const Labels names = {"-2", "-1", "0", "1", "3"};
    const Tensor x = tensor({{-2}, {-1}, {0}, {1}, {3}});
    const Tensor scores = matmul(x, transpose(x));
    lesson.show("scores", "x·xᵀ,  w_Q = w_K = 1", scores, names, names, 1);
    lesson.show("weights", "softmax(scores)", softmax(scores), names, names);
    lesson.look_for(
        "the rows. Positive numbers look at 3, negative ones at -2, and 0 at everyone alike. Nobody looks at "
        "-1, 0 "
        "or 1 most: they do not lie at an end.",
        "các hàng. Số dương nhìn 3, số âm nhìn -2, còn 0 nhìn mọi token như nhau. Không ai nhìn -1, 0 hay 1 "
        "nhiều nhất: "
        "chúng không ở đầu mút.");
    const Tensor middle = select(softmax(scores), 0, 2);
    lesson.at_most("the row of 0 is uniform; largest difference from 1/5",
                   "hàng của 0 là đều; sai khác lớn nhất so với 1/5", largest(middle - 0.2), 1e-15);

    lesson.say("Other matrices only stretch or mirror the table. Try a thousand of them:",
               "Ma trận khác đi chỉ kéo giãn hay lật ngược bảng này. Thử một nghìn bộ:");
    NumpyRng rng = Rng::numpy(0);
    std::vector<Size> chosen(5, 0);
    for (int trial = 0; trial < 1000; ++trial) {
      const Tensor tried = matmul(x * rng.normal(), transpose(x * rng.normal()));
      for (const Size row : {0, 1, 3, 4})
        ++chosen[static_cast<std::size_t>(favourites(tried)[static_cast<std::size_t>(row)])];
    }
    Table counts({lesson.pick("token", "token"), lesson.pick("looked at most", "được nhìn nhiều nhất")});
    for (std::size_t i = 0; i < 5; ++i) counts.row({names[i], fmt::format("{}", chosen[i])});
    lesson.print(counts);
    lesson.claim("whatever w_Q and w_K, only the ends are looked at most",
                 "w_Q và w_K là gì thì cũng chỉ hai đầu mút được nhìn nhiều nhất",
                 chosen[0] + chosen[4] == 4000 && chosen[0] > 0 && chosen[4] > 0,
                 fmt::format("{} / 4000", chosen[0] + chosen[4]));

    lesson.heading("One dimension more: a circle", "Thêm một chiều: đường tròn");
    lesson.say(
        "On a circle every point is an end, in its own direction. With W_Q a rotation by k fifths of a turn, "
        "each of "
        "five tokens looks at the one k places further on; any k will do.",
        "Trên đường tròn, điểm nào cũng là đầu mút theo hướng của nó. Lấy W_Q là phép quay k phần năm vòng "
        "thì mỗi token trong năm "
        "token nhìn token cách nó k chỗ; k nào cũng được.");
    const Labels corners = {"a", "b", "c", "d", "e"};
    const Tensor round = circle(5);
    Size found = 0;
    for (Size k = 0; k < 5; ++k) {
      const std::vector<Size> looked =
          favourites(matmul(matmul(round, rotation(static_cast<double>(k) / 5)), transpose(round)));
      for (Size i = 0; i < 5; ++i) found += looked[static_cast<std::size_t>(i)] == (i + k) % 5 ? 1 : 0;
    }
    const Tensor turned = 8.0 * matmul(matmul(round, rotation(0.4)), transpose(round));
    lesson.show("circle_weights", "softmax(8·x·R·xᵀ),  k = 2", softmax(turned), corners, corners);
    lesson.claim("with two dimensions every token can look at every other",
                 "hai chiều thì token nào cũng nhìn được token bất kỳ", found == 25,
                 fmt::format("{} / 25", found));

    lesson.heading("Learned: which noun does the pronoun mean?", "Học thật: đại từ chỉ danh từ nào?");
    const auto& lexicon = coreference::Lexicon::of(coreference::Language::vietnamese);
    const Size kinds = static_cast<Size>(lexicon.agreement().size());
    const double ceiling = best_on_a_line(kinds);
    lesson.say(fmt::format("Sentences of the demo (train_coreference --task agreement): three nouns of "
                           "different kinds and a pronoun "
                           "that fits one; there are {} kinds. Embeddings, queries, keys and values all have "
                           "width D. On a line "
                           "the right noun is found in at most {:.3f} of the cases, if the kinds are lined "
                           "up as well as they can "
                           "be and each pronoun takes the better end; guessing finds 0.333.",
                           kinds, ceiling),
               fmt::format("Các câu của demo (train_coreference --task agreement): ba danh từ khác loại và "
                           "một đại từ chỉ hợp với một "
                           "trong ba; có {} loại. Embedding, query, key và value đều rộng D. Trên một đường "
                           "thẳng, danh từ đúng được tìm ra "
                           "nhiều nhất {:.3f} số trường hợp, nếu các loại xếp khéo hết mức và mỗi đại từ "
                           "chọn đầu mút tốt hơn; đoán mò được "
                           "0.333.",
                           kinds, ceiling));
    lesson.look_for("where the jump is.", "chỗ nào nhảy vọt.");
    constexpr std::uint64_t seeds = 3;
    Table table({"D", lesson.pick("seed 1", "hạt giống 1"), "2", "3", lesson.pick("mean", "trung bình")});
    std::vector<study::BarGroup> bars;
    std::vector<double> lowest, means;
    for (const Size width : {1, 2, 4, 8}) {
      std::vector<std::string> cells = {fmt::format("{}", width)};
      double total = 0, least = 1;
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const double right = candidate_accuracy(width, seed);
        cells.push_back(fmt::format("{:.3f}", right));
        total += right / static_cast<double>(seeds);
        least = std::min(least, right);
      }
      cells.push_back(fmt::format("{:.3f}", total));
      table.row(cells);
      lesson.keep(fmt::format("accuracy_{}", width), total);
      bars.push_back({fmt::format("D = {}", width), {total}});
      lowest.push_back(least);
      means.push_back(total);
    }
    lesson.print(table);
    lesson.at_most("D = 1 stays below what a line allows; mean",
                   "D = 1 không vượt mức đường thẳng cho phép; trung bình", means[0], ceiling);
    lesson.at_least("D = 8 finds the right noun nearly always; worst seed",
                    "D = 8 gần như luôn tìm đúng danh từ; hạt giống kém nhất", lowest[3], 0.98);

    study::PanelsOptions panels;
    panels.title =
        lesson.pick("Weights on a line and on a circle", "Trọng số trên đường thẳng và trên đường tròn");
    panels.language = lesson.language();
    lesson.picture("weights", panels_svg({weights_panel(lesson.pick("line, D = 1", "đường thẳng, D = 1"),
                                                        names, names, softmax(scores)),
                                          weights_panel(lesson.pick("circle, D = 2", "đường tròn, D = 2"),
                                                        corners, corners, softmax(turned))},
                                         panels));
    study::BarsOptions picture;
    picture.title =
        lesson.pick("Right noun of three, by width", "Chọn đúng một trong ba danh từ, theo độ rộng");
    picture.value = lesson.pick("share of sentences right", "tỉ lệ câu đúng");
    picture.lines = {{1.0 / 3, lesson.pick("guessing", "đoán mò")},
                     {ceiling, lesson.pick("best on a line", "tốt nhất trên đường thẳng")}};
    picture.language = lesson.language();
    lesson.picture("widths", bars_svg(bars, picture));
  });
}
