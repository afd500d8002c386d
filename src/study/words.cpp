#include "study/words.hpp"

namespace regard::study {
namespace {

constexpr Words english = {"step",
                           "loss",
                           "accuracy",
                           "attention on the antecedent",
                           "entropy (nats)",
                           "attention weight, one scale for all panels",
                           "hidden by the mask",
                           "not a number",
                           "no data",
                           "Attention",
                           "Training curves",
                           "median",
                           "rows: who looks; columns: who is looked at"};

constexpr Words vietnamese = {"bước",
                              "mất mát",
                              "độ chính xác",
                              "chú ý vào tiền ngữ",
                              "entropy (nat)",
                              "trọng số chú ý, một thang cho mọi ô hình",
                              "bị mặt nạ che",
                              "không phải số",
                              "không có dữ liệu",
                              "Chú ý",
                              "Đường huấn luyện",
                              "trung vị",
                              "hàng: từ đang nhìn; cột: từ được nhìn"};

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
