// One step of training the demo's models with their default settings (examples/coreference/model.hpp), by
// hand: raw, clause and two-layer. Every row is computed, as the models do, though only the pronoun's is
// read.
#pragma once

#include <algorithm>
#include <limits>

#include "hand_written/parts.hpp"

namespace hand_written {

enum class DemoModel { raw, clause, two_layer };

struct DemoSizes {
  Size width = 16, head_width = 8, numbers = 8;
  Size window = 3;  ///< how far the first of two layers sees, to both sides
};

/// As in a coreference::Batch; clause [batch, length].
struct DemoBatch {
  Size batch, length;
  const std::int64_t *tokens, *referents, *lengths, *pronoun, *targets;
  const double* clause;
};

/// Attention of one head: rows that ask, rows that are asked, and rows that give values.
template <class T>
class DemoHead {
 public:
  DemoHead(const DemoSizes& sizes, Learned<T>& w_q, Learned<T>& w_k, Learned<T>& w_v)
      : n_(sizes), w_q_(&w_q), w_k_(&w_k), w_v_(&w_v) {}

  /// asking [batch, queries, width], asked and giving [batch, keys, width]; keys at or behind lengths[b] are
  /// hidden, and those further than `window` from the query. y [batch, queries, width] is added to.
  void forward(Size batch, Size queries, Size keys, const std::int64_t* lengths, Size window, const T* asking,
               const T* asked, const T* giving, T* y) {
    const Size d = n_.width, h = n_.head_width;
    batch_ = batch, queries_ = queries, keys_ = keys, lengths_ = lengths, window_ = window;
    asking_ = asking, asked_ = asked, giving_ = giving;
    for (std::vector<T>* x : {&q_, &dq_}) x->resize(at(batch * queries * h));
    for (std::vector<T>* x : {&k_, &dk_}) x->resize(at(batch * keys * h));
    for (std::vector<T>* x : {&v_, &dv_}) x->resize(at(batch * keys * d));
    for (std::vector<T>* x : {&p_, &dp_}) x->resize(at(batch * queries * keys));
    product(Turn::no, Turn::no, batch * queries, h, d, T{1}, asking, w_q_->data(), T{0}, q_.data());
    product(Turn::no, Turn::no, batch * keys, h, d, T{1}, asked, w_k_->data(), T{0}, k_.data());
    product(Turn::no, Turn::no, batch * keys, d, d, T{1}, giving, w_v_->data(), T{0}, v_.data());
    for (Size b = 0; b < batch; ++b) {
      T* p = &p_[at(b * queries * keys)];
      product(Turn::no, Turn::yes, queries, keys, h, scale(), &q_[at(b * queries * h)], &k_[at(b * keys * h)],
              T{0}, p);
      for (Size i = 0; i < queries; ++i) softmax(seen(b, i), p + i * keys);
      product(Turn::no, Turn::no, queries, d, keys, T{1}, p, &v_[at(b * keys * d)], T{1},
              y + b * queries * d);
    }
  }

  /// Sets the gradients of the matrices, and adds to those of asking, asked and giving.
  void backward(const T* dy, T* dasking, T* dasked, T* dgiving) {
    const Size d = n_.width, h = n_.head_width;
    for (Size b = 0; b < batch_; ++b) {
      const T *slope = dy + b * queries_ * d, *p = &p_[at(b * queries_ * keys_)];
      T* dp = &dp_[at(b * queries_ * keys_)];
      product(Turn::no, Turn::yes, queries_, keys_, d, T{1}, slope, &v_[at(b * keys_ * d)], T{0}, dp);
      product(Turn::yes, Turn::no, keys_, d, queries_, T{1}, p, slope, T{0}, &dv_[at(b * keys_ * d)]);
      for (Size i = 0; i < queries_; ++i) softmax_backward(seen(b, i), p + i * keys_, dp + i * keys_);
      product(Turn::no, Turn::no, queries_, h, keys_, scale(), dp, &k_[at(b * keys_ * h)], T{0},
              &dq_[at(b * queries_ * h)]);
      product(Turn::yes, Turn::no, keys_, h, queries_, scale(), dp, &q_[at(b * queries_ * h)], T{0},
              &dk_[at(b * keys_ * h)]);
    }
    project(batch_ * queries_, h, *w_q_, asking_, dq_, dasking);
    project(batch_ * keys_, h, *w_k_, asked_, dk_, dasked);
    project(batch_ * keys_, d, *w_v_, giving_, dv_, dgiving);
  }

 private:
  struct Range {
    Size first, end;
  };
  Range seen(Size b, Size i) const {
    const Size end = std::min(lengths_[b], i + window_ + 1);
    return {std::min(end, std::max<Size>(0, i - window_)), end};
  }
  void softmax(Range range, T* row) const {
    T largest = -std::numeric_limits<T>::infinity(), total = 0;
    for (Size j = range.first; j < range.end; ++j) largest = std::max(largest, row[j]);
    for (Size j = range.first; j < range.end; ++j) total += row[j] = std::exp(row[j] - largest);
    for (Size j = range.first; j < range.end; ++j) row[j] /= total;
    std::fill(row, row + range.first, T{0});
    std::fill(row + range.end, row + keys_, T{0});
  }
  void softmax_backward(Range range, const T* p, T* dp) const {
    T total = 0;
    for (Size j = range.first; j < range.end; ++j) total += p[j] * dp[j];
    for (Size j = 0; j < keys_; ++j) dp[j] = p[j] * (dp[j] - total);
  }
  void project(Size rows, Size columns, Learned<T>& w, const T* x, const std::vector<T>& slope, T* dx) {
    product(Turn::yes, Turn::no, n_.width, columns, rows, T{1}, x, slope.data(), T{0}, w.slope());
    product(Turn::no, Turn::yes, rows, n_.width, columns, T{1}, slope.data(), w.data(), T{1}, dx);
  }
  static std::size_t at(Size i) { return static_cast<std::size_t>(i); }
  T scale() const { return 1 / std::sqrt(static_cast<T>(n_.head_width)); }

  DemoSizes n_;
  Learned<T>*w_q_, *w_k_, *w_v_;
  Size batch_ = 0, queries_ = 0, keys_ = 0, window_ = 0;
  const std::int64_t* lengths_ = nullptr;
  const T *asking_ = nullptr, *asked_ = nullptr, *giving_ = nullptr;
  std::vector<T> q_, k_, v_, p_, dq_, dk_, dv_, dp_;
};

template <class T>
class Demo {
 public:
  /// Starting values in the order in which coreference::Model names its Parameters: words [lexicon, width],
  /// referents [numbers, width], positions [longest, width], for each layer W_Q, W_K [width, head_width] and
  /// W_V [width, width], readout [width, numbers], bias [numbers].
  Demo(DemoModel model, const DemoSizes& sizes, std::vector<std::vector<T>> start)
      : model_(model), n_(sizes) {
    learned_.reserve(start.size());
    for (std::vector<T>& each : start) learned_.emplace_back(std::move(each));
    for (std::size_t w = first_head; w + 2 < learned_.size() - 1; w += 3)
      heads_.emplace_back(n_, learned_[w], learned_[w + 1], learned_[w + 2]);
  }
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

  /// Returns the loss before the update.
  double step(const DemoBatch& in, const AdamSettings& settings) {
    forward(in);
    const double loss = cross_entropy(in.batch, n_.numbers, logits_.data(), in.targets, dlogits_.data());
    backward(in);
    ++steps_;
    for (Learned<T>& each : learned_) adam(each, steps_, settings);
    return loss;
  }

 private:
  enum { words, referents, positions, first_head };
  Learned<T>& readout() { return learned_[learned_.size() - 2]; }
  Learned<T>& bias() { return learned_.back(); }

  void forward(const DemoBatch& in) {
    const Size d = n_.width, rows = in.batch * in.length, n = in.length;
    queries_ = model_ == DemoModel::clause ? 1 : n;
    for (std::vector<T>* x : {&x_, &c_, &seen_, &dx_, &dc_, &dseen_}) x->assign(at(rows * d), T{0});
    for (std::vector<T>* x : {&asking_, &dasking_, &y_, &dy_}) x->assign(at(in.batch * queries_ * d), T{0});
    for (std::vector<T>* x : {&read_, &dread_}) x->resize(at(in.batch * d));
    for (std::vector<T>* x : {&logits_, &dlogits_}) x->resize(at(in.batch * n_.numbers));
    for (Size r = 0; r < rows; ++r) {
      if (in.referents[r] > 0)
        std::copy_n(learned_[referents].data() + (in.referents[r] - 1) * d, d, &c_[at(r * d)]);
      const T *word = learned_[words].data() + in.tokens[r] * d,
              *place = learned_[positions].data() + r % n * d;
      for (Size i = 0; i < d; ++i) x_[at(r * d + i)] = word[i] + c_[at(r * d + i)] + place[i];
    }
    const T* asking = x_.data();
    const T* asked = x_.data();
    if (model_ == DemoModel::clause) {
      weights_.assign(in.clause, in.clause + rows);
      for (Size b = 0; b < in.batch; ++b)
        product(Turn::no, Turn::no, 1, d, n, T{1}, &weights_[at(b * n)], &x_[at(b * n * d)], T{0},
                &asking_[at(b * d)]);
      asking = asking_.data();
    } else if (model_ == DemoModel::two_layer) {
      seen_ = x_;
      heads_[0].forward(in.batch, n, n, in.lengths, n_.window, asking, asked, asked, seen_.data());
      asking = asked = seen_.data();
    }
    heads_.back().forward(in.batch, queries_, n, in.lengths, n, asking, asked, c_.data(), y_.data());
    for (Size b = 0; b < in.batch; ++b) {
      std::copy_n(&y_[at(row_read(in, b) * d)], d, &read_[at(b * d)]);
      std::copy_n(bias().data(), n_.numbers, &logits_[at(b * n_.numbers)]);
    }
    product(Turn::no, Turn::no, in.batch, n_.numbers, d, T{1}, read_.data(), readout().data(), T{1},
            logits_.data());
  }

  void backward(const DemoBatch& in) {
    const Size d = n_.width, rows = in.batch * in.length, n = in.length, m = n_.numbers;
    product(Turn::yes, Turn::no, d, m, in.batch, T{1}, read_.data(), dlogits_.data(), T{0},
            readout().slope());
    product(Turn::no, Turn::yes, in.batch, d, m, T{1}, dlogits_.data(), readout().data(), T{0},
            dread_.data());
    std::fill_n(bias().slope(), m, T{0});
    for (Size b = 0; b < in.batch; ++b) {
      for (Size i = 0; i < m; ++i) bias().slope()[i] += dlogits_[at(b * m + i)];
      std::copy_n(&dread_[at(b * d)], d, &dy_[at(row_read(in, b) * d)]);
    }
    if (model_ == DemoModel::clause) {
      heads_[0].backward(dy_.data(), dasking_.data(), dx_.data(), dc_.data());
      for (Size b = 0; b < in.batch; ++b)
        product(Turn::yes, Turn::no, n, d, 1, T{1}, &weights_[at(b * n)], &dasking_[at(b * d)], T{1},
                &dx_[at(b * n * d)]);
    } else if (model_ == DemoModel::two_layer) {
      heads_[1].backward(dy_.data(), dseen_.data(), dseen_.data(), dc_.data());
      dx_ = dseen_;
      heads_[0].backward(dseen_.data(), dx_.data(), dx_.data(), dx_.data());
    } else {
      heads_[0].backward(dy_.data(), dx_.data(), dx_.data(), dc_.data());
    }
    for (const int table : {words, referents, positions})
      std::fill(learned_[at(table)].gradient.begin(), learned_[at(table)].gradient.end(), T{0});
    for (Size r = 0; r < rows; ++r) {
      T *word = learned_[words].slope() + in.tokens[r] * d, *place = learned_[positions].slope() + r % n * d;
      for (Size i = 0; i < d; ++i) {
        word[i] += dx_[at(r * d + i)];
        place[i] += dx_[at(r * d + i)];
      }
      if (in.referents[r] == 0) continue;
      T* number = learned_[referents].slope() + (in.referents[r] - 1) * d;
      for (Size i = 0; i < d; ++i) number[i] += dx_[at(r * d + i)] + dc_[at(r * d + i)];
    }
  }

  Size row_read(const DemoBatch& in, Size b) const {
    return model_ == DemoModel::clause ? b : b * in.length + in.pronoun[b];
  }
  static std::size_t at(Size i) { return static_cast<std::size_t>(i); }

  DemoModel model_;
  DemoSizes n_;
  Size queries_ = 0, steps_ = 0;
  std::vector<Learned<T>> learned_;
  std::vector<DemoHead<T>> heads_;
  std::vector<T> x_, c_, seen_, asking_, y_, read_, logits_, weights_;
  std::vector<T> dx_, dc_, dseen_, dasking_, dy_, dread_, dlogits_;
};

}  // namespace hand_written
