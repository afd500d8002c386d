// Parameters and tensors with their names, and the patterns that choose among them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/export.hpp>

namespace REGARD_API regard {

/// Dotted path and Parameter, in the order of the modules: {"encoder.0.attention.query.weight", ...}.
using NamedParameters = std::vector<std::pair<std::string, Parameter>>;
/// Name and value: what files hold.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Does the pattern mean this dotted path? `*` stands for any characters, dots included ("*.bias" is every
/// bias at any depth), `?` for one character. A pattern that means a module means all that is in it:
/// "encoder.0" also chooses "encoder.0.attention.query.weight".
[[nodiscard]] bool matches(const std::string& pattern, const std::string& path);

/// Those whose path the pattern means. ValueError that lists the paths there are when it means none.
[[nodiscard]] NamedParameters matching(const NamedParameters& parameters, const std::string& pattern);

namespace detail {
/// "a, b, c and 12 more"; "none" when there are none.
std::string list_names(const std::vector<std::string>& names);
/// ValueError: `what`: no `kind` is called `pattern`; there are ...
[[noreturn]] void throw_no_match(const char* what, const char* kind, const std::string& pattern,
                                 const std::vector<std::string>& names);
}  // namespace detail

}  // namespace regard
