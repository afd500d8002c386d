#include <regard/optim/methods.hpp>

#include <cmath>

#include "optim/method.hpp"

namespace regard {
namespace detail {
namespace {

constexpr Range not_negative = Range::not_negative, fraction = Range::fraction;

void require_nesterov(const SgdOptions& o, const std::vector<Parameter>&) {
  if (o.nesterov && !(o.momentum > 0 && o.dampening == 0))
    throw ValueError("sgd: Nesterov's look ahead needs a momentum and no dampening, got " +
                     std::to_string(o.momentum) + " and " + std::to_string(o.dampening));
}

void require_matrices(const MuonOptions& o, const std::vector<Parameter>& parameters) {
  if (o.iterations < 0 || o.iterations > 99)
    throw ValueError("muon: iterations must lie in 0 to 99, got " + std::to_string(o.iterations));
  for (const double coefficient : o.coefficients)
    if (!std::isfinite(coefficient))
      throw ValueError("muon: the coefficients must be finite, got " + std::to_string(coefficient));
  for (const Parameter& parameter : parameters)
    if (parameter.shape().rank() != 2)
      throw ValueError("muon: the parameter " + parameter.name() + " " + to_string(parameter.shape()) +
                       " is no matrix; give it to another optimiser (AdamW), and the matrices to this one");
}

template <class O, bool decoupled>
Update adam(const O& o, double rate, double t) {
  return {kernels::adam,
          kernels::AdamStep{rate, t, o.beta1, o.beta2, o.epsilon, o.weight_decay, decoupled},
          {true, true}};
}

}  // namespace

// clang-format off

template <>
const Method<SgdOptions> method<SgdOptions> = {
    "sgd", {"momentum"},
    {{"momentum", &SgdOptions::momentum, not_negative}, {"dampening", &SgdOptions::dampening, not_negative}},
    [](const SgdOptions& o, double rate, double t) -> Update {
      const bool moves = o.momentum != 0;
      return {kernels::sgd[moves + o.nesterov], kernels::SgdStep{rate, t, o.momentum, o.dampening, o.weight_decay}, {moves}};
    },
    require_nesterov};

template <>
const Method<AdamOptions> method<AdamOptions> = {
    "adam", {"first_moment", "second_moment"},
    {{"beta1", &AdamOptions::beta1, fraction}, {"beta2", &AdamOptions::beta2, fraction}, {"epsilon", &AdamOptions::epsilon, not_negative}},
    adam<AdamOptions, false>};

template <>
const Method<AdamWOptions> method<AdamWOptions> = {
    "adamw", {"first_moment", "second_moment"},
    {{"beta1", &AdamOptions::beta1, fraction}, {"beta2", &AdamOptions::beta2, fraction}, {"epsilon", &AdamOptions::epsilon, not_negative}},
    adam<AdamWOptions, true>};

template <>
const Method<RmspropOptions> method<RmspropOptions> = {
    "rmsprop", {"second_moment", "first_moment", "momentum"},
    {{"alpha", &RmspropOptions::alpha, fraction}, {"epsilon", &RmspropOptions::epsilon, not_negative},
     {"momentum", &RmspropOptions::momentum, not_negative}},
    [](const RmspropOptions& o, double rate, double) -> Update {
      const bool moves = o.momentum != 0;
      return {kernels::rmsprop[o.centered][moves], kernels::RmspropStep{rate, o.alpha, o.epsilon, o.momentum, o.weight_decay},
              {true, o.centered, moves}};
    }};

template <>
const Method<AdagradOptions> method<AdagradOptions> = {
    "adagrad", {"second_moment"},
    {{"rate_decay", &AdagradOptions::rate_decay, not_negative}, {"initial_sum", &AdagradOptions::initial_sum, not_negative},
     {"epsilon", &AdagradOptions::epsilon, not_negative}},
    [](const AdagradOptions& o, double rate, double t) -> Update {
      return {kernels::adagrad, kernels::AdagradStep{rate, t, o.rate_decay, o.initial_sum, o.epsilon, o.weight_decay}, {true}};
    }};

template <>
const Method<LionOptions> method<LionOptions> = {
    "lion", {"momentum"},
    {{"beta1", &LionOptions::beta1, fraction}, {"beta2", &LionOptions::beta2, fraction}},
    [](const LionOptions& o, double rate, double) -> Update {
      return {kernels::lion, kernels::LionStep{rate, o.beta1, o.beta2, o.weight_decay}, {true}};
    }};

template <>
const Method<MuonOptions> method<MuonOptions> = {
    "muon", {"momentum"},
    {{"momentum", &MuonOptions::momentum, fraction}, {"epsilon", &MuonOptions::epsilon, not_negative}},
    [](const MuonOptions& o, double rate, double) -> Update {
      const auto [a, b, c] = o.coefficients;
      return {kernels::muon, kernels::MuonStep{rate, o.momentum, a, b, c, o.epsilon, o.weight_decay,
                                               static_cast<std::int8_t>(o.iterations), o.nesterov, o.scale == MuonScale::match_adam}, {true}};
    },
    require_matrices};

// clang-format on

}  // namespace detail

template class OptimizerBy<SgdOptions>;
template class OptimizerBy<AdamOptions>;
template class OptimizerBy<AdamWOptions>;
template class OptimizerBy<RmspropOptions>;
template class OptimizerBy<AdagradOptions>;
template class OptimizerBy<LionOptions>;
template class OptimizerBy<MuonOptions>;

}  // namespace regard
