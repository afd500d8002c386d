// The JSON header of a safetensors file, read without trust.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <regard/io/safetensors.hpp>

namespace regard::detail {

struct HeaderEntry {
  std::string name;
  DType dtype = DType::float64;
  Shape shape;
  std::uint64_t begin = 0;  ///< in bytes, from the end of the header
  std::uint64_t end = 0;
};

struct Header {
  std::vector<HeaderEntry> entries;  ///< in the order of their places
  Metadata metadata;
};

/// IoError, without the file's name, when the text is no header of a file with that many bytes of numbers:
/// the entries must cover them exactly, without holes or overlaps, and each must be as long as its shape and
/// dtype say.
Header parse_header(std::string_view text, std::uint64_t data_bytes);

/// ValueError for names twice or reserved, and text that is not UTF-8. Padded with spaces to a multiple of 8
/// bytes.
std::string write_header(const Header& header);

/// What a whole file holds. IoError, without the file's name, when the bytes are none.
SavedTensors parse_file(std::string_view bytes);

}  // namespace regard::detail
