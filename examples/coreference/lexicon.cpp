#include "coreference/lexicon.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "regard/error.hpp"

namespace coreference {

// Words are separated by spaces; a phrase is a list between commas.
struct Lexicon::Source {
  struct Agreement {
    std::string_view pronoun, nouns;  // no nouns: the animals
  };

  Language language;
  std::string_view function, animals, things;
  std::string_view animal_to_thing, thing_to_animal, animal_to_animal;
  std::string_view animate, inanimate, subject, object, ambiguous;
  std::vector<Agreement> agreement;
  std::string_view places, place_phrases;
  std::string_view animal_adjectives, person_adjectives, times;
};

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

std::string_view code(Language language) {
  return language == Language::vietnamese ? "vi" : "en";
}

Language language_of(std::string_view code) {
  if (code == "vi") return Language::vietnamese;
  if (code == "en") return Language::english;
  throw regard::ValueError("language: expected vi or en, got \"" + std::string(code) + "\"");
}

std::string_view name(WordClass word_class) {
  switch (word_class) {
    case WordClass::padding:
      return "padding";
    case WordClass::animal:
      return "animals";
    case WordClass::thing:
      return "things";
    case WordClass::person:
      return "people";
    case WordClass::place:
      return "places";
    case WordClass::pronoun:
      return "pronouns";
    case WordClass::animate:
      return "predicates of animals";
    case WordClass::inanimate:
      return "predicates of things";
    case WordClass::subject:
      return "predicates of the one that acts";
    case WordClass::object:
      return "predicates of the one acted upon";
    case WordClass::ambiguous:
      return "ambiguous predicates";
    case WordClass::verb:
      return "verbs";
    case WordClass::animal_adjective:
      return "adjectives of animals and things";
    case WordClass::person_adjective:
      return "adjectives of people";
    case WordClass::time:
      return "time words";
    case WordClass::function:
      return "function words";
  }
  throw std::logic_error("name: not a word class");
}

bool is_noun(WordClass word_class) {
  return word_class == WordClass::animal || word_class == WordClass::thing ||
         word_class == WordClass::person || word_class == WordClass::place;
}

bool is_predicate(WordClass word_class) {
  return word_class == WordClass::animate || word_class == WordClass::inanimate ||
         word_class == WordClass::subject || word_class == WordClass::object ||
         word_class == WordClass::ambiguous;
}

const Lexicon& Lexicon::of(Language language) {
  static const Lexicon vietnamese(Source{
      Language::vietnamese,
      "con vì rất . gặp và trong ngoài",
      "mèo chó chim chuột gà thỏ vịt bò",
      "thảm ghế giường bàn hộp gối chiếu võng",
      "ngồi trên,nằm trên,đứng cạnh,trốn sau",
      "ở dưới,ở gần,che cho,chắn trước",
      "đuổi,cắn,bắt,vồ",
      "mệt ốm khát lười",
      "mềm ấm sạch rộng",
      "đói giận dữ tham",
      "chậm yếu nhỏ non",
      "đẹp lạ",
      {{"anh_ấy", "chàng_trai anh_thợ anh_lính anh_trai chú_rể"},
       {"cô_ấy", "cô_gái cô_giáo cô_dâu cô_thợ chị_gái"},
       {"ông_ấy", "ông_lão ông_nội ông_ngoại ông_chủ ông_đồ"},
       {"bà_ấy", "bà_lão bà_nội bà_ngoại bà_chủ bà_cụ"},
       {"nó", ""},
       {"họ", "lũ_trẻ các_bạn các_cháu đám_thợ đoàn_khách"}},
      "nhà vườn sân bếp",
      "trong nhà,ngoài vườn,ngoài sân,trong bếp",
      "đen trắng nâu",
      "cao gầy béo",
      "hôm_nay hôm_qua sáng_nay chiều_nay tối_qua",
  });
  static const Lexicon english(Source{
      Language::english,
      "the because very . met and in was were",
      "cat dog bird mouse hen rabbit duck cow",
      "mat chair bed table box pillow rug hammock",
      "sat on,lay on,stood beside,hid behind",
      "was under,was near,covered up,blocked off",
      "chased,bit,caught,attacked",
      "tired sick thirsty lazy",
      "soft warm clean wide",
      "hungry angry fierce greedy",
      "slow weak small young",
      "pretty strange",
      {{"he", "boy man uncle king waiter father"},
       {"she", "girl woman aunt queen waitress mother"},
       {"it", ""},
       {"they", "children twins guests students soldiers farmers"}},
      "house garden yard kitchen",
      "in the house,in the garden,in the yard,in the kitchen",
      "black white brown",
      "tall thin kind",
      "today yesterday tonight then later",
  });
  return language == Language::vietnamese ? vietnamese : english;
}

Lexicon::Lexicon(const Source& source) : language_(source.language) {
  add("", WordClass::padding);
  add_all(source.function, WordClass::function);
  const std::vector<std::int64_t> animals = add_all(source.animals, WordClass::animal);
  add_all(source.things, WordClass::thing);
  animal_to_thing_ = add_phrases(source.animal_to_thing, WordClass::verb);
  thing_to_animal_ = add_phrases(source.thing_to_animal, WordClass::verb);
  animal_to_animal_ = add_phrases(source.animal_to_animal, WordClass::verb);
  add_all(source.animate, WordClass::animate);
  add_all(source.inanimate, WordClass::inanimate);
  add_all(source.subject, WordClass::subject);
  add_all(source.object, WordClass::object);
  add_all(source.ambiguous, WordClass::ambiguous);
  for (const auto& [pronoun, nouns] : source.agreement) {
    const std::int64_t id = add(pronoun, WordClass::pronoun);
    agreement_.push_back({id, nouns.empty() ? animals : add_all(nouns, WordClass::person)});
  }
  add_all(source.places, WordClass::place);
  place_phrases_ = add_phrases(source.place_phrases, WordClass::place);
  add_all(source.animal_adjectives, WordClass::animal_adjective);
  add_all(source.person_adjectives, WordClass::person_adjective);
  add_all(source.times, WordClass::time);
}

// A word that is already known keeps its id and its class ("was" is a function word in "was under").
std::int64_t Lexicon::add(std::string_view word, WordClass word_class) {
  const auto [entry, fresh] = ids_.emplace(std::string(word), size());
  if (fresh) {
    words_.emplace_back(word);
    classes_.push_back(word_class);
  }
  return entry->second;
}

std::vector<std::int64_t> Lexicon::add_all(std::string_view words, WordClass word_class) {
  std::vector<std::int64_t> ids;
  for (const std::string_view word : split(words, ' ')) ids.push_back(add(word, word_class));
  return ids;
}

Lexicon::Phrases Lexicon::add_phrases(std::string_view phrases, WordClass word_class) {
  Phrases ids;
  for (const std::string_view phrase : split(phrases, ',')) ids.push_back(add_all(phrase, word_class));
  return ids;
}

std::optional<std::int64_t> Lexicon::find(std::string_view word) const {
  const auto entry = ids_.find(std::string(word));
  if (word.empty() || entry == ids_.end()) return std::nullopt;
  return entry->second;
}

std::int64_t Lexicon::id(std::string_view word) const {
  const auto id = find(word);
  if (!id)
    throw regard::ValueError("lexicon: \"" + std::string(word) + "\" is not a word of the lexicon " +
                             std::string(code(language_)));
  return *id;
}

std::string Lexicon::display(std::int64_t id) const {
  std::string text = word(id);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::vector<std::int64_t> Lexicon::words(WordClass word_class) const {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; id < size(); ++id)
    if (this->word_class(id) == word_class) ids.push_back(id);
  return ids;
}

std::string Lexicon::listing() const {
  std::string text;
  for (int c = static_cast<int>(WordClass::animal); c <= static_cast<int>(WordClass::function); ++c) {
    const auto word_class = static_cast<WordClass>(c);
    text += "  " + std::string(name(word_class)) + ":";
    for (const std::int64_t id : words(word_class)) text += " " + word(id);
    text += "\n";
  }
  return text;
}

}  // namespace coreference
