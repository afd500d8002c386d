// The words of the pictures, in English and Vietnamese.
#pragma once

#include <string>
#include <string_view>

namespace regard::study {

struct Words {
  const char *step, *loss, *accuracy, *mass, *entropy;
  const char *weight_scale, *gradient_scale, *hidden, *not_a_number, *no_data;
  const char *attention, *training_curves, *median, *axes;
  const char *play, *pause, *speed, *show, *weights, *gradients, *light, *dark, *controls, *over_time;
  const char *space, *key_step, *key_ends, *key_play;
};

/// English, or Vietnamese for "vi" and "vi-VN". Any other language gets English words.
const Words& words(std::string_view language);

/// The label of a measure: a word for those every run has, else its own name.
std::string measure_label(const std::string& name, const Words& words);

}  // namespace regard::study
