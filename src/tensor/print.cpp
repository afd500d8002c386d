// Prints as NumPy does (numpy.array2string with its defaults), so that what a lesson shows can be compared by
// eye: eight fractional digits at most, one column width for all, scientific notation when the magnitudes ask
// for it, lines of 75 characters, the corners only of what has more than 1000 elements.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "tensor/impl.hpp"

namespace regard {
namespace {

constexpr int precision = 8;
constexpr Size threshold = 1000;
constexpr Size edge_items = 3;
constexpr std::size_t line_width = 75;

// ---- one number ----------------------------------------------------------------------------------------

/// "-1.25e-07" taken apart: the sign and the digits before the point, those after it, the exponent.
struct Scientific {
  std::string whole, fraction;
  int exponent = 0;
};

std::string without_trailing_zeros(std::string digits) {
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

Scientific take_apart(const std::string& number) {
  const std::size_t e = number.find('e'), point = std::min(number.find('.'), e);
  return {number.substr(0, point), number.substr(std::min(point + 1, e), e - std::min(point + 1, e)),
          std::stoi(number.substr(e + 1))};
}

/// x to so many places after the point.
template <class T>
Scientific rounded(T x, int places) {
  char text[64];
  return take_apart(
      {text, std::to_chars(text, text + sizeof text, x, std::chars_format::scientific, places).ptr});
}

/// The fewest digits that give back x, and no more than `places` after the point.
template <class T>
Scientific scientific(T x, int places) {
  char text[64];
  Scientific parts =
      take_apart({text, std::to_chars(text, text + sizeof text, x, std::chars_format::scientific).ptr});
  if (parts.fraction.size() > static_cast<std::size_t>(places)) parts = rounded(x, places);
  parts.fraction = without_trailing_zeros(parts.fraction);
  return parts;
}

std::string exponent_text(int exponent, std::size_t digits) {
  const std::string magnitude = std::to_string(std::abs(exponent));
  const std::size_t zeros = digits > magnitude.size() ? digits - magnitude.size() : 0;
  return std::string(exponent < 0 ? "e-" : "e+") + std::string(zeros, '0') + magnitude;
}

/// "-12.5" taken apart: the sign and the digits before the point, those after it.
struct Positional {
  std::string whole, fraction;
};

template <class T>
Positional positional(T x, int places) {
  const Scientific shortest = scientific(x, std::numeric_limits<T>::max_digits10);
  const bool negative = shortest.whole[0] == '-';
  std::string digits = shortest.whole.substr(negative) + shortest.fraction;
  int before = shortest.exponent + 1;  // digits before the point; none when it is 0 or less
  if (before <= 0) {
    digits.insert(0, static_cast<std::size_t>(1 - before), '0');
    before = 1;
  }
  const auto point = static_cast<std::size_t>(before);
  if (digits.size() < point) digits.append(point - digits.size(), '0');
  if (digits.size() - point <= static_cast<std::size_t>(places))
    return {(negative ? "-" : "") + digits.substr(0, point), without_trailing_zeros(digits.substr(point))};

  char text[400];
  const std::string rounded(text,
                            std::to_chars(text, text + sizeof text, x, std::chars_format::fixed, places).ptr);
  const std::size_t dot = std::min(rounded.find('.'), rounded.size());
  return {rounded.substr(0, dot), without_trailing_zeros(rounded.substr(std::min(dot + 1, rounded.size())))};
}

std::string padded_left(const std::string& text, std::size_t width) {
  return (text.size() < width ? std::string(width - text.size(), ' ') : "") + text;
}

std::string not_finite(double x) {
  return std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
}

// As NumPy prints a scalar: all the digits it has, scientific outside 1e-4 .. 1e16 (1e6 for float32).
template <class T>
std::string scalar_text(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return x ? "True" : "False";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(x);
  } else {
    const int all = std::numeric_limits<T>::max_digits10 + 5;
    if (!std::isfinite(x)) return not_finite(static_cast<double>(x));
    const double size = std::abs(static_cast<double>(x));
    if (size != 0 && (size < 1e-4 || size >= (std::is_same_v<T, float> ? 1e6 : 1e16))) {
      const Scientific parts = scientific(x, all);
      return parts.whole + (parts.fraction.empty() ? "" : "." + parts.fraction) +
             exponent_text(parts.exponent, 2);
    }
    const Positional parts = positional(x, all);
    return parts.whole + "." + (parts.fraction.empty() ? "0" : parts.fraction);
  }
}

// ---- many numbers in one width -------------------------------------------------------------------------

std::vector<std::string> texts(const std::vector<bool>& values) {
  std::vector<std::string> out;
  for (const bool x : values) out.push_back(x ? " True" : "False");
  return out;
}

std::vector<std::string> texts(const std::vector<Size>& values) {
  std::vector<std::string> out;
  std::size_t width = 0;
  for (const Size x : values) {
    out.push_back(std::to_string(x));
    width = std::max(width, out.back().size());
  }
  for (std::string& text : out) text = padded_left(text, width);
  return out;
}

/// Do the magnitudes ask for scientific notation?
template <class T>
bool wants_exponent(const std::vector<T>& values) {
  T largest = 0, smallest = std::numeric_limits<T>::infinity();
  for (const T x : values) {
    if (!std::isfinite(x) || x == 0) continue;
    largest = std::max(largest, std::abs(x));
    smallest = std::min(smallest, std::abs(x));
  }
  return largest > 0 && (largest >= (std::is_same_v<T, float> ? T(1e6) : T(1e8)) ||
                         smallest < static_cast<T>(1e-4) || largest / smallest > static_cast<T>(1000));
}

template <class T>
std::vector<std::string> texts(const std::vector<T>& values) {
  const bool exponents = wants_exponent(values);
  std::vector<Scientific> parts;
  std::size_t before = 0, after = 0, exponent_digits = 0;
  bool any_finite = false;
  for (const T x : values) {
    Scientific part;
    if (std::isfinite(x)) {
      any_finite = true;
      if (exponents) {
        part = scientific(x, precision);
        exponent_digits = std::max(exponent_digits, exponent_text(part.exponent, 2).size() - 2);
      } else {
        const Positional number = positional(x, precision);
        part = {number.whole, number.fraction, 0};
      }
      before = std::max(before, part.whole.size());
      after = std::max(after, part.fraction.size());
    }
    parts.push_back(part);
  }
  std::size_t width = any_finite ? before + 1 + after + (exponents ? exponent_digits + 2 : 0) : 1;
  for (const T x : values)
    if (!std::isfinite(x)) width = std::max(width, not_finite(static_cast<double>(x)).size());

  std::vector<std::string> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      out.push_back(padded_left(not_finite(static_cast<double>(values[i])), width));
      continue;
    }
    if (exponents) {
      // The digits that fill the column are x's own, not zeros.
      const Scientific filled = rounded(values[i], static_cast<int>(after));
      out.push_back(padded_left(
          filled.whole + "." + filled.fraction + exponent_text(filled.exponent, exponent_digits), width));
    } else {
      const std::string missing(after - parts[i].fraction.size(), ' ');
      out.push_back(padded_left(parts[i].whole + "." + parts[i].fraction + missing, width));
    }
  }
  return out;
}

// ---- the brackets --------------------------------------------------------------------------------------

/// Which elements are shown, and how they are arranged in lines.
class Page {
 public:
  explicit Page(const kernels::Array& array) : array_(array), shortened_(numel(array.shape) > threshold) {}

  std::string text() {
    collect(0, 0);
    switch (array_.dtype) {
      case DType::float32:
        words_ = texts(values<float>());
        break;
      case DType::float64:
        words_ = texts(values<double>());
        break;
      case DType::int64:
        words_ = texts(values<Size>());
        break;
      case DType::boolean:
        words_ = texts(values<bool>());
        break;
    }
    next_ = words_.begin();
    return brackets(0, " ", line_width);
  }

 private:
  bool leaves_out(int axis) const { return shortened_ && array_.shape[axis] > 2 * edge_items; }

  void collect(int axis, Size offset) {
    if (axis == array_.shape.rank()) return offsets_.push_back(offset);
    for (Size i = 0; i < array_.shape[axis]; ++i) {
      if (leaves_out(axis) && i == edge_items) i = array_.shape[axis] - edge_items;
      collect(axis + 1, offset + i * array_.strides[axis]);
    }
  }

  template <class T>
  std::vector<T> values() const {
    std::vector<T> out;
    for (const Size offset : offsets_) out.push_back(array_.as<T>()[offset]);
    return out;
  }

  std::string brackets(int axis, const std::string& indent, std::size_t width) {
    const int deeper = array_.shape.rank() - axis - 1;
    const Size shown = leaves_out(axis) ? 2 * edge_items : array_.shape[axis];
    std::string done, line = indent;
    for (Size i = 0; i < shown; ++i) {
      if (leaves_out(axis) && i == edge_items) {
        if (deeper == 0) {
          append(done, line, "...", indent, width);
          line += " ";
        } else {
          done += indent + "..." + std::string(static_cast<std::size_t>(deeper), '\n');
        }
      }
      if (deeper == 0) {
        append(done, line, *next_++, indent, width);
        if (i + 1 < shown) line += " ";
      } else {
        done += indent + brackets(axis + 1, indent + " ", width - 1);
        if (i + 1 < shown) done += std::string(static_cast<std::size_t>(deeper), '\n');
      }
    }
    if (deeper == 0) done += line;
    return "[" + done.substr(indent.size()) + "]";
  }

  // A word that would pass the margin starts a new line, unless it would not fit there either. The last
  // column is the closing bracket's.
  static void append(std::string& done, std::string& line, const std::string& word, const std::string& indent,
                     std::size_t width) {
    if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
      done += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = indent;
    }
    line += word;
  }

  const kernels::Array& array_;
  bool shortened_;
  std::vector<Size> offsets_;
  std::vector<std::string> words_;
  std::vector<std::string>::const_iterator next_;
};

}  // namespace

std::string to_string(const Tensor& x) {
  if (!x.defined()) return "undefined";
  const kernels::Array& array = detail::array(x);
  if (x.numel() == 0) return "[]";
  if (x.rank() > 0) return Page(array).text();
  switch (array.dtype) {
    case DType::float32:
      return scalar_text(*array.as<float>());
    case DType::float64:
      return scalar_text(*array.as<double>());
    case DType::int64:
      return scalar_text(*array.as<Size>());
    case DType::boolean:
      return scalar_text(*array.as<bool>());
  }
  return {};
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  return out << to_string(x);
}

}  // namespace regard
