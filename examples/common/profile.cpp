#include "common/profile.hpp"

#include <iostream>
#include <mutex>
#include <utility>

namespace common {

struct SharedLedger {
  std::mutex mutex;
  regard::study::CostLedger costs;
};

namespace {
thread_local Profiled* here = nullptr;
}

void add_profile_flag(CLI::App& app, Profile& profile, const std::string& help) {
  app.add_flag_callback(
      "--profile", [&profile] { profile = std::make_shared<SharedLedger>(); }, help);
}

Profiled::Profiled(Profile profile) : profile_(std::move(profile)), before_(here) {
  if (!profile_) return;
  here = this;
  start();
}

Profiled::~Profiled() {
  if (!profile_) return;
  stop();
  here = before_;
}

void Profiled::start() {
  profiler_ = std::make_unique<regard::study::Profiler>();
}

void Profiled::stop() {
  const regard::study::CostLedger costs = profiler_->ledger();
  profiler_.reset();
  const std::lock_guard<std::mutex> lock(profile_->mutex);
  profile_->costs += costs;
}

ProfilePause::ProfilePause() : paused_(here) {
  if (paused_) paused_->stop();
}

ProfilePause::~ProfilePause() {
  if (paused_) paused_->start();
}

Profile ProfilePause::profile() const {
  return paused_ ? paused_->profile_ : nullptr;
}

int run_profiled(const Profile& profile, const std::function<int()>& program, const std::string& language) {
  const int code = [&] {
    const Profiled profiled(profile);
    return program();
  }();
  std::cout.flush();
  if (profile) std::cerr << "\n" << regard::study::to_string(profile->costs, language);
  return code;
}

}  // namespace common
