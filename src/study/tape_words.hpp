// What operations and their rules do, as formulas with names in them, and in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace regard::study {

/// "Q·Kᵀ" of matmul with the inputs Q and K, whose attributes turn K. "op(a, b; axis=1)" for what has no
/// formula here.
std::string forward_formula(const std::string& op, const std::string& attributes,
                            const std::vector<std::string>& inputs);

/// The gradient of one input: "dS·K". "rule of op" for what has no formula here.
std::string rule_formula(const std::string& op, const std::string& attributes,
                         const std::vector<std::string>& inputs, const std::string& y, const std::string& dy,
                         std::size_t input);

/// The few words in such formulas, in another language: "vi"; "en" as they are.
std::string translated(std::string formula, std::string_view language);

enum class Direction { forward, backward };
/// One sentence, or nothing.
std::string operation_words(const std::string& op, Direction direction, std::string_view language);

}  // namespace regard::study
