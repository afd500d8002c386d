// Frames as JSON values, for the lines of metrics.jsonl and the data inside film.html.
#pragma once

#include <nlohmann/json.hpp>

#include "regard/study/frame.hpp"

namespace regard::study {

using Json = nlohmann::ordered_json;

/// A JSON number, or "NaN", "Infinity", "-Infinity": the spelling of JavaScript's Number() and of protobuf.
Json number_to_json(double value);

Json to_json(const AttentionFrame& frame);

}  // namespace regard::study
