#pragma once
// The sets of sentences that one run trains on and is judged by.

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "coreference/grammar.hpp"

namespace coreference {

/// Token ids of an antecedent noun and of the predicate said of it.
using Pair = std::pair<std::int64_t, std::int64_t>;

Pair pair_of(const Sentence& sentence);

struct SplitOptions {
  Language language = Language::vietnamese;
  Task task = Task::twist;
  double role_share = 0.5;
  double ambiguous = 0;         // in training; the other sets stay clear
  double held_out_share = 0.2;  // of the pairs, never trained
  std::size_t training = 2000;
  std::size_t evaluation = 1000;  // sentences in each other set
  std::uint64_t seed = 1;
};

struct Splits {
  std::set<Pair> held_out_pairs;
  std::vector<Sentence> training;
  std::vector<Sentence> validation;      // pairs that occur in training, sentences that do not
  std::vector<Sentence> held_out;        // held-out pairs only
  std::vector<Sentence> long_1, long_2;  // pairs that occur in training
  std::vector<Sentence> ambiguous;       // predicates that fit both; empty unless training has some
  std::vector<Sentence> seed_sentences;  // two, held out; empty unless the task is the twist
};

/// All clear pairs of a task: every animal with every animate predicate, and so on.
std::vector<Pair> all_pairs(Language language, Task task);

/// The pairs that training with this seed never shows: the share asked for, rounded, spread so that each noun
/// and each predicate of a class keeps at least half of its pairs. Those of the seed sentences are always
/// among them.
std::set<Pair> choose_held_out(const SplitOptions& options);

/// The splits, a function of the options alone. Sets do not depend on each other's sizes: with more training
/// sentences the first ones stay the same. Throws regard::ValueError for shares outside [0, 1]
/// (held_out_share: at most 0.5), and for no training or evaluation sentences.
Splits make_splits(const SplitOptions& options);

/// Gives each sentence the labels of another one, at random. What can be learned then is worth nothing on
/// other sentences: a control. Positions and referent numbers stay.
void shuffle_labels(std::vector<Sentence>& sentences, regard::Rng& rng);

}  // namespace coreference
