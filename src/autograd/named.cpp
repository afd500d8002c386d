#include <regard/named.hpp>

#include <regard/error.hpp>

namespace regard {
namespace {

// Wildcards over the first `length` characters of `text`. On a mismatch the last star takes one character
// more; earlier stars need not be reconsidered, so the time is at most length times pattern.
bool matches_all_of(const std::string& pattern, const std::string& text, std::size_t length) {
  constexpr std::size_t none = std::string::npos;
  std::size_t p = 0, t = 0, star = none, star_text = 0;
  while (t < length) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != none) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool matches(const std::string& pattern, const std::string& path) {
  if (matches_all_of(pattern, path, path.size())) return true;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
    if (matches_all_of(pattern, path, dot)) return true;
  return false;
}

NamedParameters matching(const NamedParameters& parameters, const std::string& pattern) {
  NamedParameters chosen;
  std::vector<std::string> names;
  for (const auto& [path, parameter] : parameters) {
    names.push_back(path);
    if (matches(pattern, path)) chosen.emplace_back(path, parameter);
  }
  if (chosen.empty()) detail::throw_no_match("matching", "parameter", pattern, names);
  return chosen;
}

namespace detail {

std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 40;  // enough for a toy model, short enough for a terminal
  if (names.empty()) return "none";
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

void throw_no_match(const char* what, const char* kind, const std::string& pattern,
                    const std::vector<std::string>& names) {
  throw ValueError(std::string(what) + ": no " + kind + " is called \"" + pattern +
                   "\"; there are: " + list_names(names));
}

}  // namespace detail
}  // namespace regard
