#pragma once
// Stories as tensors: each sentence a position-weighted bag of words.

#include <cstddef>
#include <vector>

#include <regard/random.hpp>
#include <regard/tensor.hpp>

#include "babi/questions.hpp"

namespace babi {

/// Questions with their stories, side by side. Rows of shorter stories are filled up with zeros, behind.
struct Batch {
  regard::Tensor sentences;  // [batch, sentences, 2·words], bags
  regard::Tensor question;   // [batch, 1, 2·words], bag
  regard::Tensor ages;       // int64 [batch, sentences]; 0 is the newest
  regard::Tensor lengths;    // int64 [batch]
  regard::Tensor answers;    // int64 [batch]
};

/// The bag of a sentence holds two numbers per word of the vocabulary: Σ (1 - j/J) and Σ (2j/J - 1) over its
/// places j = 1..J. They are what is left of the position encoding of Sukhbaatar et al. 2015 (section 4.1),
/// l_kj = (1 - j/J) - (k/d)(1 - 2j/J) for the k-th of d numbers, once E is factored out: Σ_j l_kj E[w_j]_k =
/// (first·E)_k + (k/d)(second·E)_k. A sentence's vector is then one product with a small matrix, and bags can
/// be made once for all steps.
std::vector<double> position_weighted_bag(const std::vector<std::int64_t>& sentence, std::int64_t words);

/// A set of questions, ready to be drawn from. Belongs to the thread that made it, as its tensors do.
class Stories {
 public:
  /// ages: number of ages there are; older sentences have the last one. Throws regard::ValueError for no
  /// questions.
  Stories(const std::vector<Question>& questions, std::int64_t words, std::int64_t ages, regard::DType dtype);

  std::size_t size() const { return lengths_.size(); }

  /// Those questions, with ages that count every sentence.
  Batch batch(const std::vector<std::int64_t>& chosen) const;
  /// The same with random gaps: before each sentence, going back in time, one more is counted with this
  /// probability.
  Batch batch(const std::vector<std::int64_t>& chosen, double gaps, regard::Rng& rng) const;

 private:
  std::int64_t longest_ = 0;  // sentences
  std::int64_t ages_;
  std::vector<std::int64_t> lengths_;
  regard::Tensor sentences_, questions_, answers_;  // of all, stacked as in a batch
};

}  // namespace babi
