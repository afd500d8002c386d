// Attention as a library: a request slip (query) is matched with the labels on the spines (keys), and what is
// read is what stands in the books (values).
#include <algorithm>
#include <cmath>
#include <numeric>

#include <regard/regard.hpp>
#include <regard/study/bars.hpp>

#include "lessons/common/lesson.hpp"

using namespace regard;
using namespace lessons;

int main(int argc, char** argv) {
  Lesson lesson(
      argc, argv, {"Attention is a library", "Attention là một thư viện"},
      {"A request slip is compared with the label on every spine; then every book is read, the better its "
       "label fits the more.",
       "Phiếu yêu cầu được so với nhãn trên gáy từng cuốn; rồi cuốn nào cũng được đọc, nhãn càng khớp thì "
       "đọc càng nhiều."});
  return lesson.run([&] {
    const Labels topics = {lesson.pick("maths", "toán"), lesson.pick("computers", "máy tính"),
                           lesson.pick("cooking", "nấu ăn"), lesson.pick("animals", "động vật")};
    const Labels books = {
        lesson.pick("Learning machines", "Máy biết học"), lesson.pick("Matrices by hand", "Ma trận tính tay"),
        lesson.pick("The programmer's kitchen", "Bếp của lập trình viên"),
        lesson.pick("Soups", "Các món canh"), lesson.pick("The cat on the mat", "Con mèo trên thảm")};
    const Labels contents = {lesson.pick("formulas", "công thức"), lesson.pick("programs", "chương trình"),
                             lesson.pick("stories", "câu chuyện")};

    lesson.heading("The slip, the spines and the books", "Tấm phiếu, gáy sách và nội dung");
    const Tensor query = tensor({{2, 2, 0, 0}});
    const Tensor key = tensor({{1, 2, 0, 0}, {2, 0, 0, 0}, {0, 1, 2, 0}, {0, 0, 2, 0}, {0, 0, 0, 2}});
    const Tensor value = tensor({{5, 5, 0}, {9, 0, 1}, {0, 3, 7}, {1, 0, 9}, {0, 0, 10}});
    lesson.say(
        "You look for machine learning. The query is your request slip: how much of each topic you want. The "
        "key "
        "is the label on the spine: what the book can be found by. The value is what stands inside. Label "
        "and "
        "content are two different things: one is for finding, the other for reading.",
        "Bạn tìm sách về học máy. Query là tấm phiếu yêu cầu: bạn muốn bao nhiêu về mỗi chủ đề. Key là nhãn "
        "trên gáy: dựa vào đó mà tìm ra sách. Value là nội dung bên trong. Nhãn và nội dung là hai thứ khác "
        "nhau: một để tìm, một để đọc.");
    lesson.show("query", "", query, {lesson.pick("your slip", "phiếu của bạn")}, topics, 0);
    lesson.show("key", "", key, books, topics, 0);
    lesson.show("value", "", value, books, contents, 0);

    lesson.heading("Matching: a score for every book", "So khớp: mỗi cuốn một điểm");
    lesson.say(
        "The score of a book is the dot product of slip and label, divided by the root of the number of "
        "topics. "
        "Softmax turns the scores into shares of your time.",
        "Điểm của một cuốn là tích vô hướng giữa phiếu và nhãn, chia cho căn bậc hai của số chủ đề. Softmax "
        "biến điểm thành phần thời gian bạn dành cho từng cuốn.");
    lesson.formula("weights = softmax(query · keyᵀ / √4)");
    AttentionTrace trace;
    const Tensor readable = variable(value);
    const Tensor output = attention(query, key, readable, Mask::none(), {}, &trace);
    const std::vector<double> scores = doubles(trace.scaled), weights = doubles(trace.weights);

    lesson.look_for(
        "the best match first, but nothing at exactly 0: this is a soft look-up. A database would return one "
        "book and forget the others.",
        "cuốn khớp nhất đứng đầu, nhưng không cuốn nào đúng bằng 0: đây là tra cứu mềm. Một cơ sở dữ liệu "
        "sẽ trả về một cuốn và quên các cuốn khác.");
    std::vector<std::size_t> shelf(books.size());
    std::iota(shelf.begin(), shelf.end(), std::size_t{0});
    std::sort(shelf.begin(), shelf.end(),
              [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    Table table(
        {lesson.pick("book", "sách"), lesson.pick("score", "điểm"), lesson.pick("weight", "trọng số")});
    for (const std::size_t book : shelf)
      table.row({books[book], fmt::format("{:.2f}", scores[book]), fmt::format("{:.4f}", weights[book])});
    lesson.print(table);
    lesson.keep("weights", matrix(trace.weights));

    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    lesson.at_most("the weights add up to 1; they differ from it by",
                   "các trọng số cộng lại bằng 1; sai khác", std::fabs(total - 1), 1e-15);
    const bool sorted = std::is_sorted(shelf.begin(), shelf.end(),
                                       [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
    lesson.claim("the shelf, sorted by score, is sorted by weight too: softmax keeps the order",
                 "kệ sách xếp theo điểm thì cũng là xếp theo trọng số: softmax giữ nguyên thứ tự", sorted,
                 fmt::format("{:.4f} … {:.4f}", weights[shelf.front()], weights[shelf.back()]));

    lesson.heading("Reading: the weighted sum of the values", "Đọc: tổng các value theo trọng số");
    lesson.show("output", "weights · value", output, {lesson.pick("what you read", "điều bạn đọc được")},
                contents);
    Tensor by_hand = zeros({1, 3});
    for (std::size_t book = 0; book < books.size(); ++book)
      by_hand =
          by_hand + weights[book] * slice(value, 0, {static_cast<Size>(book), static_cast<Size>(book) + 1});
    lesson.at_most("adding up weight times value, book by book, gives the same; largest difference",
                   "cộng dồn trọng số nhân value, từng cuốn một, ra cùng kết quả; sai khác lớn nhất",
                   largest_difference(output, by_hand), 1e-14);

    lesson.say("Now the best book is bound anew with other contents, under its old label.",
               "Bây giờ cuốn khớp nhất được thay ruột khác, nhãn vẫn như cũ.");
    AttentionTrace rebound;
    const Tensor other_value = concatenate({tensor({{0, 0, 10}}), slice(value, 0, {1, Slice::end})});
    const Tensor other = attention(query, key, other_value, Mask::none(), {}, &rebound);
    lesson.show("other output", "weights · other value", other,
                {lesson.pick("what you read", "điều bạn đọc được")}, contents);
    lesson.claim("the weights do not change at all: they never saw the contents",
                 "trọng số không hề đổi: chúng chưa từng thấy nội dung",
                 largest_difference(trace.weights, rebound.weights) == 0,
                 largest_difference(trace.weights, rebound.weights));

    lesson.heading("Why soft", "Vì sao phải mềm");
    lesson.say(
        "Learning needs a slope. The gradient of what you read with respect to a book's contents is that "
        "book's "
        "weight: every book learns, in proportion to how much it was read.",
        "Muốn học thì phải có độ dốc. Gradient của điều bạn đọc theo nội dung một cuốn chính là trọng số của "
        "cuốn đó: cuốn nào cũng được học, đọc nhiều thì học nhiều.");
    const Tensor dvalue = grad(sum(output), readable);
    lesson.show("dvalue", "dL/dvalue,  L = sum of output", dvalue, books, contents);
    const Tensor expected = broadcast_to(transpose(matrix(trace.weights)), dvalue.shape());
    lesson.at_most("each row of the gradient is the book's weight; largest difference",
                   "mỗi hàng của gradient là trọng số của cuốn sách; sai khác lớn nhất",
                   largest_difference(dvalue, expected), 1e-15);

    lesson.say(
        "Multiply the scores by 10 and the look-up becomes nearly hard: one book has all the weight, and the "
        "others hardly learn.",
        "Nhân điểm với 10 thì tra cứu gần như cứng: một cuốn chiếm hết trọng số, các cuốn khác hầu như không "
        "học được gì.");
    AttentionOptions sharp;
    sharp.scale = 10 * trace.scale;
    AttentionTrace hard;
    (void)attention(query, key, value, Mask::none(), sharp, &hard);
    const std::vector<double> hard_weights = doubles(hard.weights);
    lesson.at_least("the best book's weight is then almost 1",
                    "trọng số của cuốn khớp nhất khi ấy gần bằng 1", hard_weights[shelf.front()], 0.9999);

    std::vector<study::BarGroup> bars;
    for (const std::size_t book : shelf) bars.push_back({books[book], {weights[book], hard_weights[book]}});
    study::BarsOptions picture;
    picture.title = lesson.pick("How much each book is read", "Mỗi cuốn được đọc bao nhiêu");
    picture.value = lesson.pick("weight", "trọng số");
    picture.series = {lesson.pick("scores as they are", "điểm giữ nguyên"),
                      lesson.pick("scores times 10", "điểm nhân 10")};
    picture.language = lesson.language();
    lesson.picture("shelf", study::bars_svg(bars, picture));
  });
}
