#pragma once
// Flags in the way all programs have them: what is wrong is said on standard error, and the exit code is 2.

#include <functional>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace common {

/// A flag whose text is read by `read`, which throws for a bad one. `shown`: the default, in the help.
template <class T, class Read>
CLI::Option* named_option(CLI::App& app, const char* flag, T& value, Read read, const char* help,
                          std::string shown) {
  return app
      .add_option_function<std::string>(
          flag, [&value, read](const std::string& text) { value = read(text); }, help)
      ->default_str(std::move(shown));
}

/// Width of columns, short errors, and the exit codes at the end of the help.
void set_style(CLI::App& app);

/// Reads the flags, then calls `check`, which throws for settings that do not go together. Nothing if the
/// program may go on; its exit code if it is finished: 0 after --help, usage_exit for an error, which has
/// been explained on standard error.
std::optional<int> parse_flags(CLI::App& app, int argc, char** argv, const std::function<void()>& check);

}  // namespace common
