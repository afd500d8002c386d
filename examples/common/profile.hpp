#pragma once
// --profile: what the operations of a program cost.

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <regard/study/profiler.hpp>

namespace common {

struct SharedLedger;
/// The costs of all threads; null unless asked for.
using Profile = std::shared_ptr<SharedLedger>;

void add_profile_flag(CLI::App& app, Profile& profile,
                      const std::string& help = "what each operation cost, as a table on standard error");

/// While it lives, what its thread runs is counted, and what run_in_parallel runs for it. Nothing for null.
class Profiled {
 public:
  explicit Profiled(Profile profile);
  ~Profiled();
  Profiled(const Profiled&) = delete;
  Profiled& operator=(const Profiled&) = delete;

 private:
  friend class ProfilePause;
  void start();
  void stop();

  Profile profile_;
  std::unique_ptr<regard::study::Profiler> profiler_;
  Profiled* before_;
};

/// While it lives, its thread counts nothing: it waits.
class ProfilePause {
 public:
  ProfilePause();
  ~ProfilePause();
  ProfilePause(const ProfilePause&) = delete;
  ProfilePause& operator=(const ProfilePause&) = delete;

  /// What its thread would count for; null for nothing.
  [[nodiscard]] Profile profile() const;

 private:
  Profiled* paused_;
};

/// Runs the program, which returns its exit code, and prints the table, in "en" or "vi", if it was asked for.
int run_profiled(const Profile& profile, const std::function<int()>& program,
                 const std::string& language = "en");

}  // namespace common
