// Eleven questions to a model. None of them knows the bug: each takes the model, the data or the training as
// they are, and says what it measured and whether that is alarming.
#include <cmath>

#include <fmt/format.h>

#include <regard/study/doctor.hpp>
#include <regard/study/leaks.hpp>

#include "lessons/26_bugs/lab.hpp"

namespace bugs {

using namespace regard;

namespace {

struct Patient {
  explicit Patient(Bug bug) : model(bug), rng(5), batch(draw(bug, 4, rng)) { evaluate(model); }
  [[nodiscard]] Tensor loss() const { return cross_entropy(model(batch.ids), batch.labels); }

  Model model;
  Rng rng;
  Batch batch;
};

// A check that cannot even be run has found something.
template <class F>
Outcome guarded(const F& check) {
  try {
    return check();
  } catch (const Error& error) {
    std::string text = error.what();
    if (text.size() > 72) text = text.substr(0, text.rfind(' ', 72)) + " …";
    return {true, {"error: " + text, "lỗi: " + text}};
  }
}

Outcome gradient_check(const Patient& p) {
  const GradientReport report = check_gradients(p.model, [&] { return p.loss(); });
  const GradientFinding& worst = report.worst();
  if (report.ok())
    return {false,
            {fmt::format("off by {:.0e} of itself at most", worst.relative),
             fmt::format("lệch nhiều nhất {:.0e} lần chính nó", worst.relative)}};
  if (worst.verdict != Verdict::wrong) return {true, {name(worst.verdict), name(worst.verdict)}};
  return {true,
          {fmt::format("{} is {:.4f}, differences say {:.4f}", worst.where, worst.analytic, worst.numeric),
           fmt::format("{} là {:.4f}, sai phân bảo {:.4f}", worst.where, worst.analytic, worst.numeric)}};
}

Outcome leak_audit(const Patient& p) {
  const Tensor x = p.model.embed(select(p.batch.ids, 0, 0)).detach();
  const auto leaks =
      study::audit_leak([&](const Tensor& at) { return p.model.logits(at); }, x).leaks(Mask::causal());
  if (leaks.empty())
    return {false, {"no output depends on what follows it", "không đầu ra nào phụ thuộc điều đến sau nó"}};
  return {
      true,
      {fmt::format("{} leaks; output {} depends on token {}", leaks.size(), leaks[0].output, leaks[0].input),
       fmt::format("{} chỗ rò rỉ; đầu ra {} phụ thuộc token {}", leaks.size(), leaks[0].output,
                   leaks[0].input)}};
}

Steps steps_of(const Patient& p) {
  Steps steps;
  (void)p.model.logits(p.model.embed(p.batch.ids), &steps);
  return steps;
}

Outcome row_sums(const Patient& p) {
  const Tensor sums = sum(steps_of(p).weights, {-1});
  const double lowest = min(sums).item(), highest = max(sums).item();
  return {std::fabs(lowest - 1) > 1e-12 || std::fabs(highest - 1) > 1e-12,
          {fmt::format("from {:.3f} to {:.3f}", lowest, highest),
           fmt::format("từ {:.3f} đến {:.3f}", lowest, highest)}};
}

Outcome score_size(const Patient& p) {
  const Tensor scores = steps_of(p).scores;
  const double deviation = std::sqrt(mean(square(scores - mean(scores))).item());
  return {!(deviation > 0.5 && deviation < 2),
          {fmt::format("deviation {:.2f}", deviation), fmt::format("độ lệch {:.2f}", deviation)}};
}

Outcome apart(const Tensor& a, const Tensor& b, double allowed) {
  const double by = lessons::largest_difference(a, b);
  if (by <= allowed) return {false, {"the same", "như nhau"}};
  return {true, {fmt::format("up to {:.1g} apart", by), fmt::format("lệch tới {:.1g}", by)}};
}

Outcome two_evaluations(const Patient& p) {
  return apart(p.model(p.batch.ids), p.model(p.batch.ids), 0);
}

Outcome cached_is_full(const Patient& p) {
  return apart(p.model.decode(p.batch.ids), p.model(p.batch.ids), 1e-12);
}

Outcome other_length(const Patient& p) {
  constexpr Size shorter = 11;
  const Tensor logits = p.model(slice(p.batch.ids, 1, {0, shorter}));
  const std::string shape = to_string(logits.shape());
  return {logits.shape() != Shape({p.batch.ids.size(0), shorter, vocabulary}),
          {fmt::format("{} tokens give {}", shorter, shape), fmt::format("{} token cho {}", shorter, shape)}};
}

Outcome doctor(const Patient& p) {
  for (const auto& health : study::diagnose(p.model, [&] { return p.loss(); }).parameters)
    if (health.health != study::Health::ok && health.reason != study::Reason::cancels) {
      const std::string said =
          fmt::format("{}: {}, {}", health.parameter, name(health.health), name(health.reason));
      return {true, {said, said}};
    }
  return {false, {"every Parameter has a gradient", "Parameter nào cũng có gradient"}};
}

Outcome same_batch_twice(Patient& p) {
  const auto gradients = [&] {
    bring_gradients(p.model, p.batch);
    Tensors all;
    for (const Parameter& parameter : parameters(p.model))
      if (parameter.has_gradient()) all.push_back(reshape(parameter.gradient(), {-1}));
    return concatenate(all);
  };
  const Tensor first = gradients(), second = gradients();
  if (lessons::largest_difference(first, second) == 0)
    return {false, {"the same gradient", "cùng một gradient"}};
  const double times = (norm(second) / norm(first)).item();
  return {true,
          {fmt::format("the second is {:.2f} times as long", times),
           fmt::format("lần hai dài gấp {:.2f} lần", times)}};
}

}  // namespace

Outcomes examine(Bug bug) {
  const auto on = [bug](const auto& check) {
    return guarded([&] {
      Patient patient(bug);
      return check(patient);
    });
  };
  const ControlRun run = train(bug);
  const lessons::Text losses = {
      fmt::format("loss {:.2f}, then {:.2f}; the source's own is {:.2f}", run.before, run.after, run.source),
      fmt::format("loss {:.2f}, rồi {:.2f}; của chính nguồn là {:.2f}", run.before, run.after, run.source)};
  return {on(gradient_check),
          on(leak_audit),
          on(row_sums),
          on(score_size),
          on(two_evaluations),
          on(cached_is_full),
          on(other_length),
          on(doctor),
          on(same_batch_twice),
          Outcome{!(run.after <= run.source + 0.25), losses},
          Outcome{run.after < run.source - 0.05, losses}};
}

}  // namespace bugs
