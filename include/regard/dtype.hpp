// The four element types, known at run time.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <regard/export.hpp>

namespace REGARD_API regard {

/// Extents, indices and counts.
using Size = std::int64_t;

/// Element type. Only the float types are differentiable; ids are int64, conditions boolean.
enum class DType : std::uint8_t { float32, float64, int64, boolean };

inline constexpr DType float32 = DType::float32;
inline constexpr DType float64 = DType::float64;
inline constexpr DType int64 = DType::int64;
inline constexpr DType boolean = DType::boolean;

/// "float32", "float64", "int64" or "boolean".
constexpr const char* name(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float32";
    case DType::float64: return "float64";
    case DType::int64: return "int64";
    case DType::boolean: return "boolean";
  }
  return "?";
}

/// float32 or float64.
constexpr bool is_float(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

/// Bytes of one element.
constexpr Size item_size(DType dtype) {
  return dtype == DType::float32 ? 4 : dtype == DType::boolean ? 1 : 8;
}

/// The dtype that stores a C++ type: float, double, std::int64_t, bool.
template <class T>
constexpr DType dtype_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int64_t> ||
                    std::is_same_v<T, bool>,
                "regard stores float, double, std::int64_t and bool");
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  if constexpr (std::is_same_v<T, double>) return DType::float64;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::int64;
  return DType::boolean;
}

/// The dtype of that name; ValueError lists the names there are.
[[nodiscard]] DType parse_dtype(const std::string& name);

}  // namespace regard
