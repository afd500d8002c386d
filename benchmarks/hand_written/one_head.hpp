// One step of training embeddings, one causal head with a residual connection, and logits at every token, by
// hand.
#pragma once

#include <algorithm>

#include "hand_written/parts.hpp"

namespace hand_written {

struct OneHeadSizes {
  Size batch, tokens, width, vocabulary;
};

template <class T>
class OneHead {
 public:
  /// Starting values in the order words [vocabulary, width], positions [tokens, width], W_Q, W_K, W_V [width,
  /// width], readout [width, vocabulary], bias [vocabulary].
  OneHead(const OneHeadSizes& sizes, std::vector<std::vector<T>> start)
      : n_(sizes), rows_(sizes.batch * sizes.tokens) {
    for (std::vector<T>& each : start) learned_.emplace_back(std::move(each));
    for (std::vector<T>* x : {&x_, &q_, &k_, &v_, &y_, &dy_, &dx_, &dq_, &dk_, &dv_})
      x->resize(static_cast<std::size_t>(rows_ * n_.width));
    for (std::vector<T>* s : {&scores_, &p_, &dp_})
      s->resize(static_cast<std::size_t>(n_.batch * n_.tokens * n_.tokens));
    for (std::vector<T>* l : {&logits_, &dlogits_})
      l->resize(static_cast<std::size_t>(rows_ * n_.vocabulary));
  }

  /// ids and targets [batch, tokens]. Returns the loss before the update.
  double step(const std::int64_t* ids, const std::int64_t* targets, const AdamSettings& settings) {
    forward(ids);
    const double loss = cross_entropy(rows_, n_.vocabulary, logits_.data(), targets, dlogits_.data());
    backward(ids);
    ++steps_;
    for (Learned<T>& each : learned_) adam(each, steps_, settings);
    return loss;
  }

 private:
  enum { words, positions, w_q, w_k, w_v, readout, bias };

  void forward(const std::int64_t* ids) {
    const Size d = n_.width, n = n_.tokens;
    for (Size r = 0; r < rows_; ++r) {
      const T *word = learned_[words].data() + ids[r] * d, *position = learned_[positions].data() + r % n * d;
      for (Size c = 0; c < d; ++c) x_[at(r * d + c)] = word[c] + position[c];
    }
    product(Turn::no, Turn::no, rows_, d, d, T{1}, x_.data(), learned_[w_q].data(), T{0}, q_.data());
    product(Turn::no, Turn::no, rows_, d, d, T{1}, x_.data(), learned_[w_k].data(), T{0}, k_.data());
    product(Turn::no, Turn::no, rows_, d, d, T{1}, x_.data(), learned_[w_v].data(), T{0}, v_.data());
    y_ = x_;
    for (Size b = 0; b < n_.batch; ++b) {
      const Size token = b * n * d, pair = b * n * n;
      product(Turn::no, Turn::yes, n, n, d, scale(), &q_[at(token)], &k_[at(token)], T{0},
              &scores_[at(pair)]);
      causal_softmax(n, &scores_[at(pair)], &p_[at(pair)]);
      product(Turn::no, Turn::no, n, d, n, T{1}, &p_[at(pair)], &v_[at(token)], T{1}, &y_[at(token)]);
    }
    for (Size r = 0; r < rows_; ++r)
      std::copy(learned_[bias].value.begin(), learned_[bias].value.end(), &logits_[at(r * n_.vocabulary)]);
    product(Turn::no, Turn::no, rows_, n_.vocabulary, d, T{1}, y_.data(), learned_[readout].data(), T{1},
            logits_.data());
  }

  void backward(const std::int64_t* ids) {
    const Size d = n_.width, n = n_.tokens, v = n_.vocabulary;
    product(Turn::yes, Turn::no, d, v, rows_, T{1}, y_.data(), dlogits_.data(), T{0},
            learned_[readout].slope());
    std::fill(learned_[bias].gradient.begin(), learned_[bias].gradient.end(), T{0});
    for (Size r = 0; r < rows_; ++r)
      for (Size c = 0; c < v; ++c) learned_[bias].gradient[at(c)] += dlogits_[at(r * v + c)];
    product(Turn::no, Turn::yes, rows_, d, v, T{1}, dlogits_.data(), learned_[readout].data(), T{0},
            dy_.data());
    for (Size b = 0; b < n_.batch; ++b) {
      const Size token = b * n * d, pair = b * n * n;
      product(Turn::no, Turn::yes, n, n, d, T{1}, &dy_[at(token)], &v_[at(token)], T{0}, &dp_[at(pair)]);
      product(Turn::yes, Turn::no, n, d, n, T{1}, &p_[at(pair)], &dy_[at(token)], T{0}, &dv_[at(token)]);
      causal_softmax_backward(n, &p_[at(pair)], &dp_[at(pair)]);
      product(Turn::no, Turn::no, n, d, n, scale(), &dp_[at(pair)], &k_[at(token)], T{0}, &dq_[at(token)]);
      product(Turn::yes, Turn::no, n, d, n, scale(), &dp_[at(pair)], &q_[at(token)], T{0}, &dk_[at(token)]);
    }
    dx_ = dy_;
    const auto projection = [&](int w, const std::vector<T>& slope) {
      product(Turn::yes, Turn::no, d, d, rows_, T{1}, x_.data(), slope.data(), T{0},
              learned_[static_cast<std::size_t>(w)].slope());
      product(Turn::no, Turn::yes, rows_, d, d, T{1}, slope.data(),
              learned_[static_cast<std::size_t>(w)].data(), T{1}, dx_.data());
    };
    projection(w_q, dq_);
    projection(w_k, dk_);
    projection(w_v, dv_);
    std::fill(learned_[words].gradient.begin(), learned_[words].gradient.end(), T{0});
    std::fill(learned_[positions].gradient.begin(), learned_[positions].gradient.end(), T{0});
    for (Size r = 0; r < rows_; ++r) {
      T *word = learned_[words].slope() + ids[r] * d, *position = learned_[positions].slope() + r % n * d;
      for (Size c = 0; c < d; ++c) {
        word[c] += dx_[at(r * d + c)];
        position[c] += dx_[at(r * d + c)];
      }
    }
  }

  static std::size_t at(Size i) { return static_cast<std::size_t>(i); }
  T scale() const { return 1 / std::sqrt(static_cast<T>(n_.width)); }

  OneHeadSizes n_;
  Size rows_, steps_ = 0;
  std::vector<Learned<T>> learned_;
  std::vector<T> x_, q_, k_, v_, y_, dy_, dx_, dq_, dk_, dv_, scores_, p_, dp_, logits_, dlogits_;
};

}  // namespace hand_written
