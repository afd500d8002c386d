#include "common/flags.hpp"

#include <exception>
#include <iostream>

#include "common/exit_codes.hpp"

namespace common {

void set_style(CLI::App& app) {
  app.get_formatter()->column_width(34);
  app.failure_message(CLI::FailureMessage::simple);
  app.footer(
      "Exit code: 0 done, 1 failure, 2 wrong usage, 130 interrupted (what there is has been written).");
}

std::optional<int> parse_flags(CLI::App& app, int argc, char** argv, const std::function<void()>& check) {
  try {
    app.parse(argc, argv);
    check();
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage_exit;
  } catch (const std::exception& error) {
    std::cerr << app.get_name() << ": " << error.what() << "\nRun with --help for more information.\n";
    return usage_exit;
  }
}

}  // namespace common
