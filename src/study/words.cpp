#include "study/words.hpp"

namespace regard::study {
namespace {

// clang-format off
constexpr Words english = {
    "step", "loss", "accuracy", "attention on the antecedent", "entropy (nats)",
    "attention weight, one scale for all panels", "gradient of the weight, each panel on its own scale",
    "hidden by the mask", "not a number", "no data",
    "Attention", "Training curves", "median", "rows: who looks; columns: who is looked at",
    "Play", "Pause", "speed", "show", "weights", "gradients", "Light", "Dark", "Playback",
    "the chosen weight over the steps",
    "Space", "one step", "first and last step", "play and pause"};

constexpr Words vietnamese = {
    "bước", "mất mát", "độ chính xác", "chú ý vào tiền ngữ", "entropy (nat)",
    "trọng số chú ý, một thang chung cho mọi hình", "gradient của trọng số, mỗi hình một thang riêng",
    "bị mặt nạ che", "không phải số", "không có dữ liệu",
    "Chú ý", "Đường cong huấn luyện", "trung vị", "hàng: từ đang nhìn; cột: từ được nhìn",
    "Chạy", "Dừng", "tốc độ", "hiện", "trọng số", "gradient", "Nền sáng", "Nền tối", "Điều khiển",
    "trọng số đã chọn theo các bước",
    "Dấu cách", "từng bước", "bước đầu và bước cuối", "chạy và dừng"};
// clang-format on

}  // namespace

const Words& words(std::string_view language) {
  return language.substr(0, 2) == "vi" ? vietnamese : english;
}

std::string measure_label(const std::string& name, const Words& words) {
  if (name == "loss") return words.loss;
  if (name == "accuracy") return words.accuracy;
  if (name == "mass") return words.mass;
  if (name == "entropy") return words.entropy;
  return name;
}

}  // namespace regard::study
