#include <algorithm>
#include <map>

#include <regard/autograd.hpp>

#include "io/atomic_file.hpp"
#include "regard/study/tape_walk.hpp"
#include "study/page.hpp"

namespace regard::study {

// src/study/tape.html, put into the library by cmake/Embed.cmake.
extern const std::string_view tape_template;

namespace {

Json words_of(bool vietnamese) {
  const auto word = [&](const char* en, const char* vi) { return vietnamese ? vi : en; };
  return {{"step", word("step", "bước")},
          {"beginning", word("Nothing has been computed yet.", "Chưa tính gì.")},
          {"empty", word("The tape is empty.", "Băng trống.")},
          {"steps", word("Steps", "Các bước")},
          {"forward", word("forward", "xuôi")},
          {"backward", word("backward", "ngược")},
          {"optimiser", word("optimiser", "tối ưu")},
          {"reads", word("reads", "đọc")},
          {"gives", word("gives", "cho ra")},
          {"known", word("Known so far", "Đã biết tới đây")},
          {"known_note",
           word("values, and below each the gradient as far as it has come; what this step gave is framed",
                "các giá trị, dưới mỗi giá trị là gradient đã đến tới đây; những gì bước này cho ra được "
                "đóng khung")},
          {"scale", word("colour: each matrix on its own scale", "màu: mỗi ma trận một thang riêng")},
          {"cut", word("cut; the whole is", "đã cắt bớt; toàn bộ là")},
          {"none", word("no elements", "không có phần tử")},
          {"back", word("one step back", "lùi một bước")},
          {"on", word("one step on", "tiến một bước")},
          {"controls", word("Walk", "Điều khiển")},
          {"light", word("Light", "Nền sáng")},
          {"dark", word("Dark", "Nền tối")},
          {"keys", Json::array({Json::array({"← →", word("one step", "từng bước")}),
                                Json::array({"Home End", word("first and last", "đầu và cuối")})})}};
}

const char* phase_key(Phase phase) {
  return phase == Phase::forward ? "forward" : phase == Phase::backward ? "backward" : "optimiser";
}

// Each array of numbers once, whatever names it goes by.
class Arrays {
 public:
  explicit Arrays(const TapePageOptions& options) : options_(options) {}

  std::size_t place_of(const Tensor& x) {
    const Json array = to_json(x);
    const auto [at, is_new] = places_.emplace(array.dump(), list.size());
    if (is_new) list.push_back(array);
    return at->second;
  }
  Json list = Json::array();

 private:
  // Rows of the last axis; the axes before it run down, as their indices say at the left.
  Json to_json(const Tensor& x) const {
    const NoGrad off;
    const std::vector<double> numbers = x.detach().to(float64).contiguous().to_vector<double>();
    const Size columns = x.rank() == 0 ? 1 : x.shape().back();
    const Size rows = columns == 0 ? 0 : x.numel() / columns;
    Json json = {{"shape", to_string(x.shape())}, {"rank", x.rank()}};
    json["cut"] =
        rows > static_cast<Size>(options_.most_rows) || columns > static_cast<Size>(options_.most_columns);
    json["rows"] = Json::array();
    json["labels"] = Json::array();
    for (Size row = 0; row < std::min(rows, static_cast<Size>(options_.most_rows)); ++row) {
      Json line = Json::array();
      for (Size column = 0; column < std::min(columns, static_cast<Size>(options_.most_columns)); ++column)
        line.push_back(number_to_json(numbers[static_cast<std::size_t>(row * columns + column)]));
      json["rows"].push_back(line);
      json["labels"].push_back(label(x.shape(), row));
    }
    return json;
  }
  // The indices of a row, but for the last axis: "1, 0".
  static std::string label(const Shape& shape, Size row) {
    std::string text;
    for (int axis = shape.rank() - 2; axis >= 0; --axis) {
      text = std::to_string(row % shape[axis]) + (text.empty() ? "" : ", ") + text;
      row /= shape[axis];
    }
    return text;
  }

  const TapePageOptions& options_;
  std::map<std::string, std::size_t> places_;
};

Json named(const std::vector<WalkValue>& values, Arrays& arrays) {
  Json list = Json::array();
  for (const WalkValue& value : values) list.push_back({value.name, arrays.place_of(value.tensor)});
  return list;
}

}  // namespace

std::string tape_html(const TapeWalk& over, const TapePageOptions& options) {
  TapeWalk walk = over;
  const bool vietnamese = walk.language().substr(0, 2) == "vi";
  const std::string title = !options.title.empty() ? options.title : vietnamese ? "Băng tính" : "Tape";
  Arrays arrays(options);
  Json data = {{"title", title}, {"description", options.description}, {"words", words_of(vietnamese)}};
  data["colors"] = both_grounds(signed_color, -1);
  walk.goto_step(0);
  // What is known is told by what changes from one place to the next.
  std::map<std::string, int> before;
  const auto changes = [&] {
    std::vector<WalkValue> changed;
    for (WalkValue& value : walk.known()) {
      const auto [at, is_new] = before.emplace(value.name, value.id);
      if (!is_new && at->second == value.id) continue;
      at->second = value.id;
      changed.push_back(std::move(value));
    }
    return named(changed, arrays);
  };
  data["changes"] = Json::array({changes()});
  data["steps"] = Json::array();
  while (walk.step()) {
    const WalkStep step = walk.here();
    data["steps"].push_back({{"sentence", step.sentence},
                             {"words", step.words},
                             {"phase", phase_key(step.phase)},
                             {"inputs", named(step.inputs, arrays)},
                             {"outputs", named(step.outputs, arrays)}});
    data["changes"].push_back(changes());
  }
  data["arrays"] = arrays.list;
  return filled(
      tape_template,
      {{"@LANGUAGE@", escaped(walk.language())}, {"@TITLE@", escaped(title)}, {"@DATA@", script_safe(data)}});
}

void write_tape_html(const std::filesystem::path& path, const TapeWalk& walk,
                     const TapePageOptions& options) {
  write_file_atomically(path, tape_html(walk, options));
}

}  // namespace regard::study
