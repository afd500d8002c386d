#include "babi/settings.hpp"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace babi {
namespace {

void require(bool fine, const std::string& why) {
  if (!fine) throw std::invalid_argument(why);
}

void require_between(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
  require(low <= value && value <= high,
          fmt::format("{}: expected {} to {}, got {}", what, low, high, value));
}

}  // namespace

std::string_view name(ModelKind kind) {
  return kind == ModelKind::hops ? "hops" : "window";
}

ModelKind model_of(std::string_view name) {
  if (name == "hops") return ModelKind::hops;
  if (name == "window") return ModelKind::window;
  throw std::invalid_argument(fmt::format("model: '{}' is not one of hops, window", name));
}

void check(const ModelSettings& model) {
  require_between("hops", model.hops, 1, 16);
  require_between("width", model.width, 1, 4096);
  require(regard::is_float(model.dtype),
          fmt::format("dtype: expected float32 or float64, got {}", regard::name(model.dtype)));
}

void check(const TrainSettings& train) {
  require_between("batch", train.batch, 1, 100'000);
  require_between("steps", train.steps, 0, 100'000'000);
  require_between("log-every", train.log_every, 1, 100'000'000);
  require(std::isfinite(train.learning_rate) && train.learning_rate > 0,
          fmt::format("learning-rate: expected a positive number, got {}", train.learning_rate));
  require(train.linear_start >= 0 && train.linear_start <= 1,
          fmt::format("linear-start: expected a share from 0 to 1, got {}", train.linear_start));
  require(train.age_gaps >= 0 && train.age_gaps < 1,
          fmt::format("age-gaps: expected a probability from 0 to below 1, got {}", train.age_gaps));
  require(std::isfinite(train.clip_norm) && train.clip_norm > 0,
          fmt::format("clip-norm: expected a positive number, got {}", train.clip_norm));
}

}  // namespace babi
