#include "tiny_lm/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include <regard/error.hpp>

namespace tiny_lm {
namespace {

/// What the first byte of a well-formed sequence says of the others: how many, and between which the second
/// lies.
struct Lead {
  std::size_t following;
  unsigned char second_low, second_high;
  char32_t bits;
};

bool read_lead(unsigned char byte, Lead& lead) {
  if (byte < 0x80) return lead = {0, 0, 0, byte}, true;
  if (byte >= 0xC2 && byte <= 0xDF) return lead = {1, 0x80, 0xBF, char32_t(byte & 0x1F)}, true;
  if (byte >= 0xE0 && byte <= 0xEF) {
    // Not overlong, no surrogate.
    const unsigned char low = byte == 0xE0 ? 0xA0 : 0x80, high = byte == 0xED ? 0x9F : 0xBF;
    return lead = {2, low, high, char32_t(byte & 0x0F)}, true;
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    const unsigned char low = byte == 0xF0 ? 0x90 : 0x80, high = byte == 0xF4 ? 0x8F : 0xBF;
    return lead = {3, low, high, char32_t(byte & 0x07)}, true;
  }
  return false;
}

bool is_control(char32_t c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0);
}

std::size_t line_of(std::u32string_view text, std::size_t place) {
  return 1 + static_cast<std::size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), U'\n'));
}

template <class Key>
double entropy_of(const std::map<Key, double>& counts, double total) {
  double sum = 0;
  for (const auto& [key, count] : counts) sum -= count / total * std::log(count / total);
  return sum;
}

}  // namespace

std::string_view code(Language language) {
  return language == Language::vietnamese ? "vi" : "en";
}

Language language_of(std::string_view code) {
  if (code == "vi") return Language::vietnamese;
  if (code == "en") return Language::english;
  throw regard::ValueError("language: '" + std::string(code) + "' is neither vi nor en");
}

std::u32string decode_utf8(std::string_view bytes) {
  std::u32string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const auto fail = [&](std::size_t i, const std::string& what) -> void {
      throw regard::ValueError(fmt::format("not UTF-8: byte 0x{:02X} at offset {} {}", byte(i), i, what));
    };
    Lead lead{};
    if (!read_lead(byte(at), lead)) fail(at, "begins no character");
    char32_t character = lead.bits;
    for (std::size_t i = 1; i <= lead.following; ++i) {
      if (at + i == bytes.size()) fail(at, "begins a character that the end cuts off");
      const unsigned char low = i == 1 ? lead.second_low : 0x80, high = i == 1 ? lead.second_high : 0xBF;
      if (byte(at + i) < low || byte(at + i) > high)
        fail(at + i, fmt::format("cannot follow 0x{:02X}", byte(at + i - 1)));
      character = character << 6 | char32_t(byte(at + i) & 0x3F);
    }
    text += character;
    at += 1 + lead.following;
  }
  return text;
}

std::string encode_utf8(std::u32string_view text) {
  std::string bytes;
  const auto put = [&bytes](char32_t value) {
    bytes += static_cast<char>(static_cast<unsigned char>(value));
  };
  for (const char32_t c : text) {
    if (c < 0x80) {
      put(c);
      continue;
    }
    const int following = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    put((following == 1 ? 0xC0u : following == 2 ? 0xE0u : 0xF0u) | c >> 6 * following);
    for (int i = following - 1; i >= 0; --i) put(0x80u | (c >> 6 * i & 0x3F));
  }
  return bytes;
}

std::string describe(char32_t character) {
  const std::string number = fmt::format("U+{:04X}", static_cast<std::uint32_t>(character));
  return is_control(character) || character == '\n' || character == '\t'
             ? number
             : "'" + encode_utf8({&character, 1}) + "' (" + number + ")";
}

Alphabet::Alphabet(std::u32string text) : characters_(std::move(text)) {
  if (characters_.empty()) throw regard::ValueError("alphabet: the text is empty");
  std::sort(characters_.begin(), characters_.end());
  characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
}

std::vector<std::int64_t> Alphabet::ids(std::u32string_view text) const {
  std::vector<std::int64_t> ids;
  for (const char32_t c : text) {
    const auto place = std::lower_bound(characters_.begin(), characters_.end(), c);
    if (place == characters_.end() || *place != c)
      throw regard::ValueError(
          "the character " + describe(c) + " is not among the " + std::to_string(size()) +
          " that the model knows: " + encode_utf8(characters_.substr(characters_[0] == '\n' ? 1 : 0)));
    ids.push_back(place - characters_.begin());
  }
  return ids;
}

std::u32string read_text(const std::filesystem::path& path) {
  const std::string name = path.string() + ": ";
  if (std::filesystem::is_directory(path)) throw regard::IoError(name + "is a folder, not a text file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (file) bytes << file.rdbuf();
  if (!file && (!file.is_open() || file.bad()))
    throw regard::IoError(name + "cannot be read" +
                          (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
  std::u32string text;
  try {
    text = decode_utf8(bytes.str());
  } catch (const regard::ValueError& error) {
    throw regard::IoError(name + error.what() + "; save the file as UTF-8");
  }
  if (!text.empty() && text[0] == 0xFEFF) text.erase(0, 1);
  for (std::size_t i = text.find(U"\r\n"); i != std::u32string::npos; i = text.find(U"\r\n", i))
    text.erase(i, 1);
  if (text.empty()) throw regard::IoError(name + "is empty");
  const auto control = std::find_if(text.begin(), text.end(), is_control);
  if (control != text.end())
    throw regard::IoError(name + "is no text: it holds the control character " + describe(*control) +
                          " in line " +
                          std::to_string(line_of(text, static_cast<std::size_t>(control - text.begin()))));
  return text;
}

Entropies entropies(std::u32string_view text) {
  std::map<char32_t, double> characters, firsts;
  std::map<std::pair<char32_t, char32_t>, double> pairs;
  for (std::size_t i = 0; i < text.size(); ++i) {
    ++characters[text[i]];
    if (i == 0) continue;
    ++firsts[text[i - 1]];
    ++pairs[{text[i - 1], text[i]}];
  }
  Entropies result;
  if (text.empty()) return result;
  result.unigram = entropy_of(characters, static_cast<double>(text.size()));
  if (text.size() == 1) return result;
  const double total = static_cast<double>(text.size() - 1);
  result.bigram = std::max(0.0, entropy_of(pairs, total) - entropy_of(firsts, total));  // H(a, b) - H(a)
  return result;
}

}  // namespace tiny_lm
