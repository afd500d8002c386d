#include "study/tape_words.hpp"

#include <array>
#include <utility>

namespace regard::study {
namespace {

// In formulas a, b, c are the inputs, y the output, dy its gradient, @ the number that belongs to the
// operation, each between braces. Words: forward and backward, English and Vietnamese.
struct Row {
  const char* op;
  const char* forward;
  std::array<const char*, 3> rules;
  std::array<const char*, 4> words;
};

// clang-format off
constexpr Row rows[] = {
    {"add", "{a} + {b}", {"{dy}", "{dy}", ""},
     {"Adds element by element.", "A sum hands its gradient to both terms unchanged, summed where a term was stretched.",
      "Cộng từng phần tử.", "Tổng chuyển nguyên gradient cho cả hai số hạng, cộng dồn ở chỗ số hạng được kéo giãn."}},
    {"subtract", "{a} - {b}", {"{dy}", "-{dy}", ""},
     {"Subtracts element by element.", "The first term gets the gradient, the second its negative.",
      "Trừ từng phần tử.", "Số hạng đầu nhận gradient, số hạng sau nhận số đối."}},
    {"multiply", "{a}∘{b}", {"{dy}∘{b}", "{dy}∘{a}", ""},
     {"Multiplies element by element.", "Each factor gets the gradient times the other factor.",
      "Nhân từng phần tử.", "Mỗi thừa số nhận gradient nhân với thừa số kia."}},
    {"divide", "{a} / {b}", {"{dy} / {b}", "-{dy}∘{a} / {b}²", ""},
     {"Divides element by element.", "", "Chia từng phần tử.", ""}},
    {"multiply_scalar", "{@}·{a}", {"{@}·{dy}", "", ""},
     {"Every element times one number.", "The gradient is scaled by the same number.",
      "Mỗi phần tử nhân với một số.", "Gradient được nhân với chính số đó."}},
    {"add_scalar", "{a} + {@}", {"{dy}", "", ""},
     {"One number added to every element.", "A constant that is added changes no gradient.",
      "Cộng một số vào mọi phần tử.", "Hằng số cộng vào không làm đổi gradient."}},
    {"power", "{a}^{@}", {"{@}·{a}^({@} - 1)∘{dy}", "", ""}, {"", "", "", ""}},
    {"negate", "-{a}", {"-{dy}", "", ""}, {"", "", "", ""}},
    {"exp", "exp {a}", {"{dy}∘{y}", "", ""}, {"", "exp is its own derivative.", "", "exp là đạo hàm của chính nó."}},
    {"log", "log {a}", {"{dy} / {a}", "", ""}, {"", "", "", ""}},
    {"sqrt", "√{a}", {"{dy} / (2·{y})", "", ""}, {"", "", "", ""}},
    {"square", "{a}²", {"2·{a}∘{dy}", "", ""}, {"", "", "", ""}},
    {"tanh", "tanh {a}", {"{dy}∘(1 - {y}²)", "", ""}, {"", "", "", ""}},
    {"sigmoid", "sigmoid {a}", {"{dy}∘{y}∘(1 - {y})", "", ""}, {"", "", "", ""}},
    {"relu", "max({a}, 0)", {"{dy} where {a} > 0", "", ""}, {"", "", "", ""}},
    {"sum", "Σ {a}", {"{dy} in every place", "", ""},
     {"Adds up.", "Whatever was added up gets the sum's gradient, each element the same.",
      "Cộng dồn.", "Mọi phần tử đã cộng đều nhận cùng gradient của tổng."}},
    {"mean", "mean {a}", {"{dy} / n in every place", "", ""},
     {"The average.", "Each of the n elements gets an n-th of the gradient.",
      "Trung bình.", "Mỗi phần tử trong n phần tử nhận một phần n của gradient."}},
    {"transpose", "{a}ᵀ", {"{dy}ᵀ", "", ""},
     {"The same numbers with two axes exchanged.", "The gradient is turned back.",
      "Vẫn các số ấy, đổi chỗ hai trục.", "Gradient được xoay trở lại."}},
    {"softmax", "softmax {a}", {"{y}∘({dy} - Σ {y}∘{dy})", "", ""},
     {"Each row becomes weights that sum to 1; what the mask hides gets exactly 0.",
      "Each score is pushed by how far its own gradient lies above the row's average, times its weight: a row of the result sums "
      "to 0.",
      "Mỗi hàng thành các trọng số có tổng bằng 1; chỗ bị mặt nạ che đúng bằng 0.",
      "Mỗi điểm số bị đẩy theo mức gradient của nó vượt trung bình của hàng, nhân với trọng số của nó: mỗi hàng kết quả có tổng "
      "bằng 0."}},
    {"log_softmax", "log softmax {a}", {"{dy} - exp({y})∘Σ {dy}", "", ""}, {"", "", "", ""}},
    {"blocked_attention", "softmax({@}·{a}·{b}ᵀ)·{c}", {"{@}·dS·{b}", "{@}·dSᵀ·{a}", "Pᵀ·{dy}"},
     {"Attention in one go: the weights P of each query over the keys that it may see mix the values, and are forgotten.",
      "P is made again: dP = dy·valueᵀ, dS = P∘(dP - Σ P∘dP), as if each step stood on the tape.",
      "Attention làm một lượt: trọng số P của mỗi query trên các key nó được thấy trộn các value, rồi bị bỏ đi.",
      "P được tính lại: dP = dy·valueᵀ, dS = P∘(dP - Σ P∘dP), như khi từng bước nằm trên băng."}},
    {"masked_scores", "{@}·{a}·{b}ᵀ where kept", {"{@}·{dy}·{b}", "{@}·{dy}ᵀ·{a}", ""},
     {"Each query meets each key that it may see.", "Each side gets the gradient times the other side, over the pairs that are kept.",
      "Mỗi query gặp từng key mà nó được thấy.", "Mỗi bên nhận gradient nhân với bên kia, trên các cặp được giữ."}},
    {"masked_mix", "{@}·{a}·{b} where kept", {"{@}·{dy}·{b}ᵀ", "{@}·{a}ᵀ·{dy}", ""},
     {"Each query mixes the values by its weights.", "The weights get gradient·value, the values get weight·gradient.",
      "Mỗi query trộn các value theo trọng số.", "Trọng số nhận gradient·value, value nhận trọng số·gradient."}},
    {"masked_mix_transposed", "{@}·{a}ᵀ·{b} where kept", {"{@}·{b}·{dy}ᵀ", "{@}·{a}·{dy}", ""}, {"", "", "", ""}},
};
// clang-format on

constexpr std::array<const char*, 4> product_words = {
    "Each row of the left meets each column of the right: products, added up.",
    "Each factor gets the gradient times the other factor, turned so that the shapes fit.",
    "Mỗi hàng bên trái gặp mỗi cột bên phải: nhân rồi cộng lại.",
    "Mỗi thừa số nhận gradient nhân với thừa số kia, chuyển vị cho khớp kích thước."};

const Row* row_of(const std::string& op) {
  for (const Row& row : rows)
    if (op == row.op) return &row;
  return nullptr;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The number in "value=0.5", "alpha=0.5" or "scale=0.5"; nothing where there is none.
std::string number_in(const std::string& attributes) {
  for (const std::string_view key : {"value=", "alpha=", "scale="})
    if (const std::size_t at = attributes.find(key); at != std::string::npos)
      return attributes.substr(at + key.size(), attributes.find(',', at) - at - key.size());
  return "";
}

std::string turned(const std::string& x) {
  const std::string mark = "ᵀ";
  const bool is_turned = x.size() > mark.size() && x.compare(x.size() - mark.size(), mark.size(), mark) == 0;
  return is_turned ? x.substr(0, x.size() - mark.size()) : x + mark;
}

std::string filled_in(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  if (const std::size_t at = text.find("{@}·"); at == 0 && values[0].second == "1")
    text.erase(0, std::string("{@}·").size());
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      out += text[at++];
      continue;
    }
    for (const auto& [key, value] : values)
      if (text.compare(at + 1, end - at - 1, key) == 0) out += value;
    at = end + 1;
  }
  const std::string twice = "ᵀᵀ";
  if (const std::size_t at = out.find(twice); at != std::string::npos) out.erase(at, twice.size());
  return out;
}

// How a product reads: with α, and a letter turned where it went in turned.
struct Product {
  std::string alpha, a, b;
  bool turn_a, turn_b;
};

Product product_of(const std::string& attributes, const std::vector<std::string>& inputs) {
  const std::string number = number_in(attributes);
  return {number.empty() ? "" : number + "·", inputs[0], inputs[1], has(attributes, "aᵀ"),
          has(attributes, "bᵀ")};
}

}  // namespace

std::string forward_formula(const std::string& op, const std::string& attributes,
                            const std::vector<std::string>& inputs) {
  const auto input = [&](std::size_t i) { return i < inputs.size() ? inputs[i] : std::string(); };
  if (op == "matmul" && inputs.size() == 2) {
    const Product p = product_of(attributes, inputs);
    return p.alpha + (p.turn_a ? turned(p.a) : p.a) + "·" + (p.turn_b ? turned(p.b) : p.b);
  }
  if (op == "softmax" && !input(1).empty()) return "softmax " + input(0) + " over " + input(1);
  if (const Row* row = row_of(op))
    return filled_in(row->forward, {{"@", number_in(attributes)}, {"a", input(0)}, {"b", input(1)}, {"c", input(2)}});
  std::string text = op + "(";
  bool first = true;
  for (const std::string& name : inputs) {
    if (name.empty()) continue;
    text += (first ? "" : ", ") + name;
    first = false;
  }
  return text + (attributes.empty() ? "" : "; " + attributes) + ")";
}

std::string rule_formula(const std::string& op, const std::string& attributes,
                         const std::vector<std::string>& inputs, const std::string& y, const std::string& dy,
                         std::size_t which) {
  const auto input = [&](std::size_t i) { return i < inputs.size() ? inputs[i] : std::string(); };
  if (op == "matmul" && inputs.size() == 2) {
    const Product p = product_of(attributes, inputs);
    // y = α·A·B, where A is a or aᵀ: the gradient of A is dy·Bᵀ, of B Aᵀ·dy, and that of aᵀ is turned back.
    if (which == 0)
      return p.alpha + (p.turn_a ? (p.turn_b ? turned(p.b) : p.b) + "·" + turned(dy)
                                 : dy + "·" + (p.turn_b ? p.b : turned(p.b)));
    return p.alpha + (p.turn_b ? turned(dy) + "·" + (p.turn_a ? turned(p.a) : p.a)
                               : (p.turn_a ? p.a : turned(p.a)) + "·" + dy);
  }
  const Row* row = row_of(op);
  if (!row || which >= row->rules.size() || !*row->rules[which]) return "";
  return filled_in(row->rules[which],
                   {{"@", number_in(attributes)}, {"a", input(0)}, {"b", input(1)}, {"y", y}, {"dy", dy}});
}

std::string translated(std::string formula, std::string_view language) {
  if (language.substr(0, 2) != "vi") return formula;
  // Names have no spaces in them, so that none is taken for a word.
  constexpr std::pair<std::string_view, std::string_view> pairs[] = {{" in every place", " ở mọi chỗ"},
                                                                     {" where kept", " ở chỗ được giữ"},
                                                                     {" where ", " ở chỗ "},
                                                                     {" over ", " trên "},
                                                                     {"mean ", "trung bình "}};
  for (const auto& [english, vietnamese] : pairs)
    if (const std::size_t at = formula.find(english); at != std::string::npos)
      formula.replace(at, english.size(), vietnamese);
  return formula;
}

std::string operation_words(const std::string& op, Direction direction, std::string_view language) {
  const std::size_t place =
      (language.substr(0, 2) == "vi" ? 2u : 0u) + (direction == Direction::backward ? 1u : 0u);
  if (op == "matmul") return product_words[place];
  const Row* row = row_of(op);
  return row ? row->words[place] : "";
}

}  // namespace regard::study
