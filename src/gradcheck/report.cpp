// What a report says, in words.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <regard/error.hpp>
#include <regard/gradcheck.hpp>

namespace regard {
namespace {

bool is_accepted(const GradientReport& report, Verdict verdict) {
  return verdict == Verdict::ok ||
         std::find(report.accepted.begin(), report.accepted.end(), verdict) != report.accepted.end();
}

bool is_better(const GradientFinding& a, const GradientFinding& b) {
  return a.verdict != b.verdict ? a.verdict < b.verdict : a.relative < b.relative;
}

}  // namespace

const char* name(Verdict verdict) {
  constexpr const char* names[] = {
      "ok", "vacuous", "precision limited", "kink", "not connected", "nondeterministic", "wrong"};
  return names[static_cast<int>(verdict)];
}

Verdict GradientReport::verdict() const {
  return findings.empty() ? Verdict::ok : worst().verdict;
}

bool GradientReport::ok() const {
  return std::all_of(findings.begin(), findings.end(),
                     [this](const GradientFinding& f) { return is_accepted(*this, f.verdict); });
}

const GradientFinding& GradientReport::worst() const {
  if (findings.empty()) throw ValueError("gradient report: nothing was checked, so nothing is the worst");
  return *std::max_element(findings.begin(), findings.end(), is_better);
}

std::string to_string(const GradientFinding& f) {
  constexpr const char* orders[] = {"", ", second order", ", third order"};
  std::string text = fmt::format("{}: {}{}", f.where, name(f.verdict), orders[f.order - 1]);
  if (f.verdict == Verdict::ok)
    return text + (f.note.empty() ? fmt::format(", {:.2e} apart, relative {:.1e}", f.absolute, f.relative)
                                  : "; " + f.note);
  if (f.checked > 0) {
    text += fmt::format("\n  analytic {:.10g}, numeric {:.10g}, {:.2e} apart, relative {:.2e}, {:.3g} ulp",
                        f.analytic, f.numeric, f.absolute, f.relative, f.ulps);
    text += fmt::format("\n  step {:.2e}, the numeric value errs by about {:.1e}", f.step, f.error);
    if (std::isfinite(f.remainder_order))
      text += fmt::format(", remainder of order {:.2f}", f.remainder_order);
    if (f.checked > 1) text += fmt::format("; {} of {} coordinates not ok", f.failed, f.checked);
  }
  return f.note.empty() ? text : text + "\n  " + f.note;
}

std::string to_string(const GradientReport& report) {
  std::string text =
      fmt::format("gradients: {} ({})\n", report.ok() ? "ok" : name(report.verdict()),
                  report.coverage == Coverage::fast ? "random directions" : "every coordinate");
  for (const GradientFinding& f : report.findings) text += to_string(f) + "\n";
  return text;
}

}  // namespace regard
