#include <regard/study/profiler.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <ostream>
#include <tuple>

#include <fmt/format.h>

#include <regard/study/terminal.hpp>

#include "autograd/observer.hpp"
#include "study/work.hpp"

namespace regard::study {
namespace {

using regard::detail::Run;
using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

/// Bytes of the different numbers: an axis along which they repeat counts once.
double distinct_bytes(const Tensor& x) {
  Size count = x.numel() == 0 ? 0 : 1;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (x.strides()[axis] != 0) count *= x.size(axis);
  return static_cast<double>(count * item_size(x.dtype()));
}

double bytes(const Run& run) {
  const std::string_view op = run.name;
  const bool looks_up = op == "take" || op == "gather";
  double sum = 0;
  for (int i = 0; i < run.output_count; ++i) sum += distinct_bytes(run.outputs[i]);
  for (int i = 0; i < run.input_count; ++i)
    if (run.inputs[i].defined())
      sum += i == 0 && looks_up ? distinct_bytes(run.outputs[0]) : distinct_bytes(run.inputs[i]);
  return sum;
}

void sort(std::vector<Cost>& costs) {
  std::sort(costs.begin(), costs.end(), [](const Cost& a, const Cost& b) {
    return std::tie(b.seconds, a.op, a.phase) < std::tie(a.seconds, b.op, b.phase);
  });
}

// ---- the table -----------------------------------------------------------------------------------------

struct TableWords {
  std::array<const char*, 9> heads;
  const char* phases[3];
  const char *between, *others, *all, *about;
};

const TableWords& table_words(const std::string& language) {
  static const TableWords english = {
      {"operation", "phase", "calls", "time", "share", "per call", "GFLOP/s", "moved", "GB/s"},
      {"forward", "backward", "optimiser"},
      "(between them)",
      "({} others)",
      "all",
      "Between them: building the graph, memory, checks, and what the program does itself. Moved: inputs and "
      "outputs,\neach number once. GFLOP/s: products of matrices only.\n"};
  static const TableWords vietnamese = {
      {"phép toán", "pha", "lần gọi", "thời gian", "tỉ lệ", "mỗi lần", "GFLOP/s", "dữ liệu", "GB/s"},
      {"tiến", "lùi", "tối ưu"},
      "(xen giữa)",
      "({} phép khác)",
      "tổng",
      "Xen giữa: dựng đồ thị, bộ nhớ, kiểm tra, và việc của chính chương trình. Dữ liệu: đầu vào và đầu ra,\n"
      "mỗi số tính một lần. GFLOP/s: chỉ các phép nhân ma trận.\n"};
  return language.substr(0, 2) == "vi" ? vietnamese : english;
}

/// 0.00123 -> "1.23 ms"
std::string duration(double seconds) {
  const char* const units[] = {"s", "ms", "µs", "ns"};
  std::size_t unit = 0;
  for (; seconds < 0.9995 && unit + 1 < std::size(units); ++unit) seconds *= 1000;
  return fmt::format("{:.{}f} {}", seconds, seconds < 10 ? 2 : seconds < 100 ? 1 : 0, units[unit]);
}

/// 1234567 -> "1.23 MB"
std::string amount(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : bytes < 10 ? 2 : 1, units[unit]);
}

/// Per second, in 1e9; nothing for what was not counted.
std::string rate(double work, double seconds) {
  if (work <= 0 || seconds <= 0) return "";
  const double billions = work / seconds / 1e9;
  return fmt::format("{:.{}f}", billions, billions < 10 ? 2 : billions < 100 ? 1 : 0);
}

using Line = std::array<std::string, 9>;

Line line_of(std::string name, std::string phase, const Cost& cost, double all) {
  const std::string share = all > 0 ? fmt::format("{:.1f} %", 100 * cost.seconds / all) : "";
  if (cost.calls == 0) return {std::move(name), std::move(phase), "", duration(cost.seconds), share};
  return {std::move(name),
          std::move(phase),
          std::to_string(cost.calls),
          duration(cost.seconds),
          share,
          duration(cost.seconds / static_cast<double>(cost.calls)),
          rate(cost.flops, cost.seconds),
          amount(cost.bytes),
          rate(cost.bytes, cost.seconds)};
}

void add(Cost& to, const Cost& cost) {
  to.calls += cost.calls;
  to.seconds += cost.seconds;
  to.flops += cost.flops;
  to.bytes += cost.bytes;
}

/// Text columns to the left, numbers to the right.
std::string aligned(const std::vector<Line>& lines) {
  std::array<int, 9> widths{};
  for (const Line& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], display_width(line[i]));
  std::string text;
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string space(static_cast<std::size_t>(widths[i] - display_width(line[i])), ' ');
      row += (i > 0 ? "  " : "") + (i < 2 ? line[i] + space : space + line[i]);
    }
    text += row.erase(row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

double CostLedger::seconds() const {
  return std::accumulate(costs.begin(), costs.end(), between[0] + between[1] + between[2],
                         [](double sum, const Cost& cost) { return sum + cost.seconds; });
}

CostLedger& CostLedger::operator+=(const CostLedger& other) {
  for (const Cost& cost : other.costs) {
    const auto same = std::find_if(costs.begin(), costs.end(), [&](const Cost& own) {
      return own.op == cost.op && own.phase == cost.phase;
    });
    if (same == costs.end())
      costs.push_back(cost);
    else
      add(*same, cost);
  }
  for (std::size_t phase = 0; phase < std::size(between); ++phase) between[phase] += other.between[phase];
  sort(costs);
  return *this;
}

std::string to_string(const CostLedger& ledger, const std::string& language, std::size_t most) {
  const TableWords& words = table_words(language);
  const auto phase = [&](Phase of) { return words.phases[static_cast<std::size_t>(of)]; };
  const double seconds = ledger.seconds();
  std::vector<Line> lines;
  lines.emplace_back();
  std::copy(words.heads.begin(), words.heads.end(), lines.back().begin());
  Cost others, all;
  for (std::size_t i = 0; i < ledger.costs.size(); ++i) {
    const Cost& cost = ledger.costs[i];
    add(all, cost);
    if (i < most)
      lines.push_back(line_of(cost.op, phase(cost.phase), cost, seconds));
    else
      add(others, cost);
  }
  if (others.calls > 0)
    lines.push_back(
        line_of(fmt::format(fmt::runtime(words.others), ledger.costs.size() - most), "", others, seconds));
  for (const Phase of : {Phase::forward, Phase::backward, Phase::optimiser}) {
    Cost between;
    between.seconds = ledger.between[static_cast<std::size_t>(of)];
    if (between.seconds > 0) lines.push_back(line_of(words.between, phase(of), between, seconds));
  }
  // What is moved per second of operations; the time is that of everything.
  Line last = line_of(words.all, "", all, seconds);
  last[3] = duration(seconds);
  last[4] = last[5] = "";
  lines.push_back(std::move(last));
  return aligned(lines) + words.about;
}

std::ostream& operator<<(std::ostream& out, const CostLedger& ledger) {
  return out << to_string(ledger);
}

class Profiler::Clerk : public regard::detail::Observer {
 public:
  void before(const Run&) override {
    start_ = Clock::now();
    between_[phase()] += seconds_between(end_, start_);
  }
  void after(const Run& run) override {
    const Clock::time_point now = Clock::now();
    auto& ops = ops_[phase()];
    auto found = ops.find(std::string_view(run.name));
    if (found == ops.end()) found = ops.emplace(run.name, Cost()).first;
    Cost cost;
    cost.calls = 1;
    cost.seconds = seconds_between(start_, now);
    cost.bytes = bytes(run);
    cost.flops = flops(
        run.name, [&](int i) -> const Shape& { return run.inputs[i].shape(); }, run.outputs[0].shape());
    add(found->second, cost);
    end_ = Clock::now();  // the books are nobody's cost
  }

  CostLedger ledger() const {
    CostLedger ledger;
    for (std::size_t phase = 0; phase < std::size(ops_); ++phase) {
      ledger.between[phase] = between_[phase];
      for (const auto& [op, cost] : ops_[phase]) {
        ledger.costs.push_back(cost);
        ledger.costs.back().op = op;
        ledger.costs.back().phase = static_cast<Phase>(phase);
      }
    }
    sort(ledger.costs);
    return ledger;
  }

 private:
  static std::size_t phase() { return static_cast<std::size_t>(regard::detail::context().phase); }

  std::map<std::string, Cost, std::less<>> ops_[3];
  double between_[3] = {0, 0, 0};
  Clock::time_point start_, end_ = Clock::now();
};

Profiler::Profiler() : clerk_(std::make_unique<Clerk>()) {}
Profiler::~Profiler() = default;
CostLedger Profiler::ledger() const {
  return clerk_->ledger();
}
void Profiler::stop() {
  clerk_->leave();
}

}  // namespace regard::study
