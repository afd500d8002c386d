#pragma once
// The text that the model learns: code points, the alphabet they make, and how much of it counting can tell.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tiny_lm {

enum class Language { vietnamese, english };

/// "vi" or "en".
std::string_view code(Language language);
/// The language of a code. Throws regard::ValueError, naming the two codes.
Language language_of(std::string_view code);

/// The code points of UTF-8. Throws regard::ValueError, naming the byte and where it stands, for what is not
/// well-formed (Unicode 15, table 3-7): stray, missing and overlong bytes, surrogates, code points above
/// U+10FFFF.
std::u32string decode_utf8(std::string_view bytes);
std::string encode_utf8(std::u32string_view text);

/// The different characters of a text, in the order of their code points; a character's id is its place.
class Alphabet {
 public:
  /// Throws regard::ValueError for an empty text.
  explicit Alphabet(std::u32string text);

  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  const std::u32string& characters() const { return characters_; }
  bool has(char32_t character) const { return characters_.find(character) != std::u32string::npos; }
  /// Throws regard::ValueError, naming the first character that is not in the alphabet.
  std::vector<std::int64_t> ids(std::u32string_view text) const;
  char32_t character(std::int64_t id) const { return characters_.at(static_cast<std::size_t>(id)); }

 private:
  std::u32string characters_;
};

/// A text file: UTF-8 with or without a byte order mark; lines may end in CR LF. Throws regard::IoError,
/// naming the file and what is wrong: it cannot be read, is empty, is not UTF-8, or holds control characters
/// as binary files do.
std::u32string read_text(const std::filesystem::path& path);

/// Sixty lines in the manner of proverbs and of small scenes, written for this example.
std::u32string bundled_text(Language language);

/// What counting gives, in nats per character: -Σ p(a)·log p(a), and -Σ p(a, b)·log p(b | a) over neighbours,
/// 0 for a text of one character. Whoever knows nothing but the character before cannot have a smaller loss
/// than the second.
struct Entropies {
  double unigram = 0, bigram = 0;
};
Entropies entropies(std::u32string_view text);

/// "'x' (U+0078)"; control characters by their number alone.
std::string describe(char32_t character);

}  // namespace tiny_lm
