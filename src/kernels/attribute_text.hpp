// What an attribute says, for whoever lists what ran. A struct whose to_text is missing says nothing.
#pragma once

#include <cstdio>
#include <string>

namespace regard::kernels {

/// "axis=2"; nine digits.
template <class T>
std::string named_number(const char* name, T value) {
  char text[64];
  std::snprintf(text, sizeof text, "%s=%.9g", name, static_cast<double>(value));
  return text;
}

}  // namespace regard::kernels
