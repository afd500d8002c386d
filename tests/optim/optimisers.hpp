// The optimisers with the options of tests/golden/optimisers.py, by its names.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <regard/optim.hpp>

#include "support/tensors.hpp"

namespace regard::test {

using Make = std::function<std::unique_ptr<Optimizer>(std::vector<Parameter>)>;

/// Options with some of them set: with<SgdOptions>([](auto& o) { o.momentum = 0.9; }).
template <class Options, class Set>
Options with(const Set& set) {
  Options options;
  set(options);
  return options;
}

template <class Kind, class Options>
Make make(const Options& options, const typename Kind::Groups& groups = {}) {
  return [=](std::vector<Parameter> p) { return std::make_unique<Kind>(std::move(p), options, groups); };
}

inline SgdOptions sgd_options(double rate, double momentum = 0, double dampening = 0, double decay = 0) {
  return with<SgdOptions>([&](SgdOptions& o) {
    o.learning_rate = rate;
    o.momentum = momentum;
    o.dampening = dampening;
    o.weight_decay = decay;
  });
}

inline AdamOptions adam_options(double rate, double decay = 0, double beta1 = 0.9, double beta2 = 0.999,
                                double epsilon = 1e-8) {
  return with<AdamOptions>([&](AdamOptions& o) {
    o.learning_rate = rate;
    o.beta1 = beta1;
    o.beta2 = beta2;
    o.epsilon = epsilon;
    o.weight_decay = decay;
  });
}

inline LionOptions lion_options(double rate, double beta1, double beta2, double decay = 0) {
  return with<LionOptions>([&](LionOptions& o) {
    o.learning_rate = rate;
    o.beta1 = beta1;
    o.beta2 = beta2;
    o.weight_decay = decay;
  });
}

inline std::map<std::string, Make> elementwise_optimisers() {
  return {
      {"sgd", make<Sgd>(sgd_options(0.1))},
      {"sgd/decay", make<Sgd>(sgd_options(0.1, 0, 0, 0.05))},
      {"sgd/momentum", make<Sgd>(sgd_options(0.05, 0.9))},
      {"sgd/momentum, dampening, decay", make<Sgd>(sgd_options(0.05, 0.8, 0.3, 0.02))},
      {"sgd/nesterov", make<Sgd>(with<SgdOptions>([](SgdOptions& o) {
         o = sgd_options(0.05, 0.9, 0, 0.02);
         o.nesterov = true;
       }))},
      {"adam", make<Adam>(adam_options(0.01))},
      {"adam/decay", make<Adam>(adam_options(0.02, 0.1, 0.8, 0.95, 1e-6))},
      {"adamw", make<AdamW>(adam_options(0.01, 0.01))},
      {"adamw/decay", make<AdamW>(adam_options(0.02, 0.1, 0.8, 0.95, 1e-6))},
      {"adamw/groups", make<AdamW>(adam_options(0.01, 0.01), {{"second", adam_options(0.05, 0, 0.5, 0.9)}})},
      {"rmsprop", make<Rmsprop>(RmspropOptions())},
      {"rmsprop/momentum", make<Rmsprop>(with<RmspropOptions>([](RmspropOptions& o) {
         o.learning_rate = 0.005;
         o.alpha = 0.9;
         o.momentum = 0.7;
       }))},
      {"rmsprop/centered", make<Rmsprop>(with<RmspropOptions>([](RmspropOptions& o) {
         o.learning_rate = 0.005;
         o.alpha = 0.9;
         o.epsilon = 1e-6;
         o.centered = true;
       }))},
      {"rmsprop/centered, momentum, decay", make<Rmsprop>(with<RmspropOptions>([](RmspropOptions& o) {
         o.learning_rate = 0.005;
         o.alpha = 0.95;
         o.centered = true;
         o.momentum = 0.5;
         o.weight_decay = 0.1;
       }))},
      {"adagrad", make<Adagrad>(AdagradOptions())},
      {"adagrad/decays", make<Adagrad>(with<AdagradOptions>([](AdagradOptions& o) {
         o.learning_rate = 0.1;
         o.rate_decay = 0.02;
         o.initial_sum = 0.3;
         o.epsilon = 1e-6;
         o.weight_decay = 0.1;
       }))},
      {"lion", make<Lion>(lion_options(0.01, 0.9, 0.99))},
      {"lion/decay", make<Lion>(lion_options(0.02, 0.8, 0.95, 0.3))},
  };
}

inline std::map<std::string, Make> matrix_optimisers() {
  return {
      {"muon", make<Muon>(with<MuonOptions>([](MuonOptions& o) { o.learning_rate = 0.02; }))},
      {"muon/plain, as adam", make<Muon>(with<MuonOptions>([](MuonOptions& o) {
         o.learning_rate = 0.05;
         o.nesterov = false;
         o.momentum = 0.8;
         o.weight_decay = 0;
         o.iterations = 3;
         o.scale = MuonScale::match_adam;
       }))},
      {"muon/other polynomial", make<Muon>(with<MuonOptions>([](MuonOptions& o) {
         o.learning_rate = 0.02;
         o.coefficients = {2, -1.5, 0.5};
         o.epsilon = 1e-5;
       }))},
  };
}

/// All of them, with the shape that the second parameter has there.
inline std::map<std::string, std::pair<Make, Shape>> optimisers() {
  std::map<std::string, std::pair<Make, Shape>> all;
  for (const auto& [name, make_optimizer] : elementwise_optimisers()) all[name] = {make_optimizer, {2}};
  for (const auto& [name, make_optimizer] : matrix_optimisers()) all[name] = {make_optimizer, {1, 2}};
  return all;
}

/// The gradient of tests/golden/optimisers.py.
inline Tensor gradient_at(const Parameter& p, int step) {
  std::vector<double> values = values_of(p.value());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.5 * values[i] + std::cos(step + static_cast<double>(i));
  return from_values(values, p.shape(), p.dtype());
}

}  // namespace regard::test
