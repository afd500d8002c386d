#include "coreference/splits.hpp"

#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "regard/error.hpp"

namespace coreference {

namespace {

// One random stream for each set.
enum Stream : std::uint64_t { pairs, training, validation, held_out, long_1, long_2, ambiguous };

// Nouns and the predicates that go with them.
struct Block {
  std::vector<std::int64_t> nouns, predicates;
};

std::vector<Block> blocks(Language language, Task task) {
  const Lexicon& lexicon = Lexicon::of(language);
  const std::vector<std::int64_t> animals = lexicon.words(WordClass::animal);
  if (task == Task::twist)
    return {{animals, lexicon.words(WordClass::animate)},
            {lexicon.words(WordClass::thing), lexicon.words(WordClass::inanimate)},
            {animals, lexicon.words(WordClass::subject)},
            {animals, lexicon.words(WordClass::object)}};
  std::vector<Block> agreement;
  for (const AgreementClass& c : lexicon.agreement())
    agreement.push_back({c.nouns, lexicon.words(WordClass::animate)});
  return agreement;
}

using Key = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;

Key key_of(const Sentence& sentence) {
  return {sentence.tokens, sentence.referents};
}

// `count` sentences for which `wanted` holds.
template <class Wanted>
std::vector<Sentence> draw_many(std::size_t count, const GrammarOptions& grammar, regard::Rng rng,
                                Wanted wanted) {
  std::vector<Sentence> sentences;
  while (sentences.size() < count) {
    Sentence sentence = draw(grammar, rng);
    if (wanted(sentence)) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace

Pair pair_of(const Sentence& sentence) {
  return {sentence.token(sentence.antecedent), sentence.token(sentence.predicate)};
}

std::vector<Pair> all_pairs(Language language, Task task) {
  std::vector<Pair> all;
  for (const Block& block : blocks(language, task))
    for (const std::int64_t noun : block.nouns)
      for (const std::int64_t predicate : block.predicates) all.emplace_back(noun, predicate);
  return all;
}

std::set<Pair> choose_held_out(const SplitOptions& options) {
  if (!(options.held_out_share >= 0 && options.held_out_share <= 0.5))
    throw regard::ValueError("splits: expected a held-out share in [0, 0.5], got " +
                             std::to_string(options.held_out_share));
  // How many more pairs each noun (with the predicates of one class) and each predicate may lose.
  const Lexicon& lexicon = Lexicon::of(options.language);
  std::map<std::pair<std::int64_t, WordClass>, std::size_t> left_of_noun;
  std::map<std::int64_t, std::size_t> left_of_predicate;
  for (const Block& block : blocks(options.language, options.task))
    for (const std::int64_t predicate : block.predicates) {
      left_of_predicate[predicate] += block.nouns.size() / 2;
      for (const std::int64_t noun : block.nouns)
        left_of_noun[{noun, lexicon.word_class(predicate)}] = block.predicates.size() / 2;
    }

  std::vector<Pair> order = all_pairs(options.language, options.task);
  const auto wanted =
      static_cast<std::size_t>(std::lround(options.held_out_share * static_cast<double>(order.size())));
  regard::Rng rng = regard::Rng(options.seed).split(Stream::pairs);
  rng.shuffle(order);
  for (const Sentence& seed : seed_sentences(options.language)) order.insert(order.begin(), pair_of(seed));
  const std::vector<Pair> possible = all_pairs(options.language, options.task);
  const std::set<Pair> real(possible.begin(), possible.end());

  std::set<Pair> chosen;
  for (const Pair& pair : order) {
    if (chosen.size() >= wanted) break;
    if (real.count(pair) == 0 || chosen.count(pair) != 0) continue;
    std::size_t& noun = left_of_noun[{pair.first, lexicon.word_class(pair.second)}];
    std::size_t& predicate = left_of_predicate[pair.second];
    if (noun == 0 || predicate == 0) continue;
    --noun;
    --predicate;
    chosen.insert(pair);
  }
  return chosen;
}

Splits make_splits(const SplitOptions& options) {
  if (options.training == 0 || options.evaluation == 0)
    throw regard::ValueError("splits: expected at least one training and one evaluation sentence");
  const regard::Rng rng(options.seed);
  GrammarOptions clear;
  clear.language = options.language;
  clear.task = options.task;
  clear.role_share = options.role_share;
  const auto with = [&clear](Length length, double ambiguous_share) {
    GrammarOptions changed = clear;
    changed.length = length;
    changed.ambiguous = ambiguous_share;
    return changed;
  };

  Splits splits;
  splits.held_out_pairs = choose_held_out(options);
  const auto known = [&](const Sentence& s) { return splits.held_out_pairs.count(pair_of(s)) == 0; };
  const auto unknown = [&](const Sentence& s) { return !known(s); };

  splits.training =
      draw_many(options.training, with(Length::usual, options.ambiguous), rng.split(Stream::training), known);
  std::set<Key> trained;
  for (const Sentence& s : splits.training) trained.insert(key_of(s));
  const auto fresh = [&](const Sentence& s) { return known(s) && trained.count(key_of(s)) == 0; };

  const std::size_t n = options.evaluation;
  splits.validation = draw_many(n, clear, rng.split(Stream::validation), fresh);
  if (!splits.held_out_pairs.empty())
    splits.held_out = draw_many(n, clear, rng.split(Stream::held_out), unknown);
  splits.long_1 = draw_many(n, with(Length::long_1, 0), rng.split(Stream::long_1), known);
  splits.long_2 = draw_many(n, with(Length::long_2, 0), rng.split(Stream::long_2), known);
  if (options.ambiguous > 0)
    splits.ambiguous = draw_many(n, with(Length::usual, 1), rng.split(Stream::ambiguous), fresh);
  if (options.task == Task::twist)
    for (Sentence& seed : seed_sentences(options.language)) splits.seed_sentences.push_back(std::move(seed));
  return splits;
}

void shuffle_labels(std::vector<Sentence>& sentences, regard::Rng& rng) {
  std::vector<std::pair<std::int64_t, std::int64_t>> labels;
  for (const Sentence& s : sentences) labels.emplace_back(s.label, s.reverse_label);
  rng.shuffle(labels);
  for (std::size_t i = 0; i < sentences.size(); ++i)
    std::tie(sentences[i].label, sentences[i].reverse_label) = labels[i];
}

}  // namespace coreference
