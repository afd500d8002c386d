// The optimisers there are: for each its options, and the update they stand for. p is a parameter, g its
// gradient, t the number of its step, from 1. `weight_decay` adds weight_decay·p to g (L2), or, where it says
// decoupled, multiplies p by 1 - rate·weight_decay before the update. Defaults are PyTorch's, and so are the
// updates.
#pragma once

#include <array>

#include <regard/export.hpp>
#include <regard/optim/optimizer.hpp>

namespace REGARD_API regard {

/// Gradient descent: p -= rate·g. With momentum b = momentum·b + (1 - dampening)·g (b = g at first) and
/// p -= rate·b; with Nesterov's look ahead (1983) p -= rate·(g + momentum·b).
struct SgdOptions {
  double learning_rate = 1e-3;
  double momentum = 0;
  double dampening = 0;  ///< the new gradient enters the momentum as (1 - dampening)·g, after the first step
  double weight_decay = 0;
  bool nesterov = false;  ///< ValueError unless there is momentum and no dampening
};
using Sgd = OptimizerBy<SgdOptions>;

/// Kingma & Ba 2015: m = beta1·m + (1 - beta1)·g, v = beta2·v + (1 - beta2)·g²,
/// p -= rate · (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon).
struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;     ///< how much of the first moment stays
  double beta2 = 0.999;   ///< how much of the second moment stays
  double epsilon = 1e-8;  ///< added to the root of the second moment, after its correction
  double weight_decay = 0;
};
using Adam = OptimizerBy<AdamOptions>;

/// Loshchilov & Hutter 2019: Adam with decoupled weight decay.
struct AdamWOptions : AdamOptions {
  AdamWOptions() { weight_decay = 1e-2; }
  AdamWOptions(const AdamOptions& options) : AdamOptions(options) {}  // NOLINT: they mean the same
};
using AdamW = OptimizerBy<AdamWOptions>;

/// Hinton 2012 (lecture 6e): v = alpha·v + (1 - alpha)·g², u = g / (sqrt v + epsilon), p -= rate·u. Centered
/// (Graves 2013): m = alpha·m + (1 - alpha)·g, and v - m² under the root, no less than 0. With momentum
/// b = momentum·b + u, p -= rate·b.
struct RmspropOptions {
  double learning_rate = 1e-2;
  double alpha = 0.99;
  double epsilon = 1e-8;
  double momentum = 0;
  double weight_decay = 0;
  bool centered = false;
};
using Rmsprop = OptimizerBy<RmspropOptions>;

/// Duchi, Hazan & Singer 2011: v = v + g², p -= rate / (1 + (t - 1)·rate_decay) · g / (sqrt v + epsilon).
struct AdagradOptions {
  double learning_rate = 1e-2;
  double rate_decay = 0;
  double initial_sum = 0;  ///< what v starts at
  double epsilon = 1e-10;
  double weight_decay = 0;
};
using Adagrad = OptimizerBy<AdagradOptions>;

/// Chen et al. 2023, algorithm 2: p -= rate·sign(beta1·m + (1 - beta1)·g), then m = beta2·m + (1 - beta2)·g.
/// Decay is decoupled. Its rates are three to ten times smaller than Adam's, its decay as much larger.
struct LionOptions {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
};
using Lion = OptimizerBy<LionOptions>;

/// How far Muon moves a matrix of n inputs and m outputs.
enum class MuonScale {
  original,   ///< sqrt(max(1, m / n)): Jordan's
  match_adam  ///< 0.2·sqrt(max(m, n)): the root mean square that AdamW's updates have (Liu et al. 2025)
};
/// Jordan et al. 2024, for matrices [inputs, outputs] as Linear has them (the transpose of PyTorch's):
/// b = momentum·b + (1 - momentum)·g, u = momentum·b + (1 - momentum)·g if nesterov, else b; x = u / |u|,
/// then `iterations` times x = a·x + b·(x·xᵀ)·x + c·(x·xᵀ)²·x, which brings the singular values near 1
/// (Newton and Schulz); p -= rate·scale·x. Decay is decoupled. All of it in p's dtype, where PyTorch iterates
/// in bfloat16. Meant for hidden layers; embeddings, biases and the output are better off with AdamW.
/// ValueError for a parameter that is no matrix.
struct MuonOptions {
  double learning_rate = 1e-3;
  double momentum = 0.95;
  double weight_decay = 0.1;
  bool nesterov = true;
  std::array<double, 3> coefficients{3.4445, -4.7750, 2.0315};  ///< a, b, c
  int iterations = 5;                                           ///< 0 to 99
  double epsilon = 1e-7;                                        ///< the least that |u| counts for
  MuonScale scale = MuonScale::original;
};
using Muon = OptimizerBy<MuonOptions>;

}  // namespace regard
