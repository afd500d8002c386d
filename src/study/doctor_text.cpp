// The diagnosis: looked up, and as a table.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include <regard/error.hpp>
#include <regard/study/doctor.hpp>

namespace regard::study {
namespace {

const char* explanation(Reason reason) {
  switch (reason) {
    case Reason::none:
      return "";
    case Reason::not_trainable:
      return "it is frozen";
    case Reason::unused:
      return "nothing was computed with it";
    case Reason::unreachable:
      return "what was computed with it does not enter the loss";
    case Reason::recording_off:
      return "recording was off (NoGrad)";
    case Reason::detached:
      return "detached";
    case Reason::not_differentiable:
      return "no gradient goes through";
    case Reason::masked:
      return "hidden by a mask everywhere";
    case Reason::dead_relu:
      return "dead relu, no input is above 0";
    case Reason::multiplied_by_zero:
      return "multiplied by 0";
    case Reason::flat:
      return "the slope is 0";
    case Reason::cancels:
      return "its parts add up to 0, the loss does not see it";
    case Reason::arose_forward:
      return "not finite from the forward on";
    case Reason::arose_backward:
      return "not finite from the backward on";
    case Reason::unknown:
      return "the reason is not known";
  }
  return "";
}

std::string verdict(const ParameterHealth& p) {
  std::string text = name(p.health);
  if (p.reason != Reason::none) text += fmt::format(": {}", explanation(p.reason));
  if (!p.op.empty()) text += fmt::format(", at {}", p.op);
  if (!p.module.empty()) text += fmt::format(" in {}", p.module);
  return p.detail.empty() ? text : text + fmt::format(" ({})", p.detail);
}

}  // namespace

bool Diagnosis::ok() const {
  return std::none_of(parameters.begin(), parameters.end(),
                      [](const ParameterHealth& p) { return p.alarming(); });
}

const ParameterHealth& Diagnosis::at(const std::string& parameter) const {
  std::vector<std::string> names;
  for (const ParameterHealth& health : parameters) {
    if (health.parameter == parameter) return health;
    names.push_back(health.parameter);
  }
  throw ValueError(fmt::format("diagnosis: no Parameter is called \"{}\"; there are: {}", parameter,
                               fmt::join(names, ", ")));
}

const char* name(Health health) {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::zero:
      return "zero";
    case Health::missing:
      return "missing";
    case Health::non_finite:
      return "not finite";
  }
  return "";
}

const char* name(Reason reason) {
  switch (reason) {
    case Reason::none:
      return "none";
    case Reason::not_trainable:
      return "not trainable";
    case Reason::unused:
      return "unused";
    case Reason::unreachable:
      return "unreachable";
    case Reason::recording_off:
      return "recording off";
    case Reason::detached:
      return "detached";
    case Reason::not_differentiable:
      return "not differentiable";
    case Reason::masked:
      return "masked";
    case Reason::dead_relu:
      return "dead relu";
    case Reason::multiplied_by_zero:
      return "multiplied by zero";
    case Reason::flat:
      return "flat";
    case Reason::cancels:
      return "cancels";
    case Reason::arose_forward:
      return "arose forward";
    case Reason::arose_backward:
      return "arose backward";
    case Reason::unknown:
      return "unknown";
  }
  return "";
}

std::string to_string(const Diagnosis& diagnosis) {
  std::size_t names = 9, shapes = 5;
  for (const ParameterHealth& p : diagnosis.parameters) {
    names = std::max(names, p.parameter.size());
    shapes = std::max(shapes, to_string(p.shape).size());
  }
  std::string text =
      fmt::format("{:{}}  {:{}}  {:>8}  {:>5}\n", "parameter", names, "shape", shapes, "largest", "zeros");
  Size alarming = 0;
  for (const ParameterHealth& p : diagnosis.parameters) {
    alarming += p.alarming() ? 1 : 0;
    const bool there = p.health != Health::missing;
    const Size count = numel(p.shape);
    const std::string zeros =
        !there || count == 0
            ? "-"
            : fmt::format("{:.0f} %", 100.0 * static_cast<double>(p.zeros) / static_cast<double>(count));
    text += fmt::format("{:{}}  {:{}}  {:>8}  {:>5}  {}\n", p.parameter, names, to_string(p.shape), shapes,
                        there ? fmt::format("{:.1e}", p.largest) : "-", zeros, verdict(p));
  }
  return text + (alarming == 0
                     ? std::string("every gradient is as it should be\n")
                     : fmt::format("{} of {} need attention\n", alarming, diagnosis.parameters.size()));
}

std::ostream& operator<<(std::ostream& out, const Diagnosis& diagnosis) {
  return out << to_string(diagnosis);
}

}  // namespace regard::study
