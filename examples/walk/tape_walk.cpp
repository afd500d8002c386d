// Walks through self-attention over three tokens, one operation at a time, forward and back through its
// gradients.
//
//   tape_walk                                   at a terminal: a prompt; type help
//   tape_walk --script "step 5; print S"        what would be typed, one after another
//   tape_walk --out folder                      tape.html, a page to click through
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "common/exit_codes.hpp"
#include "common/flags.hpp"
#include "common/folder.hpp"
#include "common/profile.hpp"
#include "walk/three_tokens.hpp"

namespace {

using namespace regard;

struct Settings {
  std::string script, out, language = "en", mask = "causal";
  common::Profile profile;
};

std::string two(const Settings& settings, const char* english, const char* vietnamese) {
  return settings.language == "vi" ? vietnamese : english;
}

study::TapePageOptions page_options(const Settings& settings) {
  study::TapePageOptions options;
  options.title =
      two(settings, "Attention over three tokens, step by step", "Chú ý trên ba token, từng bước một");
  options.description = two(
      settings, "“the cat sat”: O = softmax(X·W_Q·(X·W_K)ᵀ / 2)·X·W_V, then every gradient, last step first.",
      "“the cat sat”: O = softmax(X·W_Q·(X·W_K)ᵀ / 2)·X·W_V, rồi mọi gradient, từ bước cuối trở về.");
  return options;
}

/// All steps with what each gave.
void print_all(study::TapeWalk& walk) {
  walk.goto_step(0);
  while (walk.step()) {
    std::cout << study::obey(walk, "goto " + std::to_string(walk.place())).text;
    for (const study::WalkValue& value : walk.here().outputs)
      std::cout << study::obey(walk, "print " + value.name).text;
  }
}

/// Commands until one says quit; how many there were.
int obey_all(study::TapeWalk& walk, std::istream& commands, char end, bool prompt) {
  int count = 0;
  std::string command;
  while (true) {
    if (prompt) std::cout << "(" << walk.place() << "/" << walk.size() << ") " << std::flush;
    if (!std::getline(commands, command, end)) break;
    ++count;
    const study::WalkReply reply = study::obey(walk, command);
    std::cout << reply.text;
    if (reply.quit) return count;
  }
  if (prompt) std::cout << "\n";
  return count;
}

int run(const Settings& settings) {
  const walk::ThreeTokens tokens(settings.mask == "causal" ? walk::Visibility::causal
                                                           : walk::Visibility::full);
  study::TapeWalk walk = walk::walk_over(tokens, settings.language);
  if (!settings.out.empty()) {
    common::prepare_folder(settings.out);
    const std::filesystem::path page = std::filesystem::path(settings.out) / "tape.html";
    study::write_tape_html(page, walk, page_options(settings));
    std::cout << two(settings, "The page: ", "Trang: ") << page.string() << "\n";
    if (settings.script.empty()) return 0;
  }
  if (!settings.script.empty()) {
    std::istringstream commands(settings.script);
    obey_all(walk, commands, ';', false);
  } else if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
    std::cout << page_options(settings).title << ". "
              << two(settings, "Enter goes on, help lists the commands.",
                     "Enter đi tiếp, help liệt kê các lệnh.")
              << "\n";
    obey_all(walk, std::cin, '\n', true);
  } else if (isatty(STDIN_FILENO) || obey_all(walk, std::cin, '\n', false) == 0) {
    print_all(walk);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app(
      "Walks through self-attention over three tokens, one operation at a time, forward and back through its "
      "gradients. "
      "Commands are typed at a prompt, or read from standard input; without any, the whole walk is printed.");
  common::set_style(app);
  app.add_option("--script", settings.script, "commands, with ; between them: \"step 5; print S\"");
  app.add_option("--out", settings.out, "a folder; writes tape.html there");
  app.add_option("--mask", settings.mask, "what a token sees")
      ->check(CLI::IsMember({"causal", "full"}))
      ->capture_default_str();
  app.add_option("--language", settings.language, "of texts")
      ->check(CLI::IsMember({"en", "vi"}))
      ->capture_default_str();
  common::add_profile_flag(app, settings.profile);
  if (const std::optional<int> code = common::parse_flags(app, argc, argv, [] {})) return *code;
  try {
    return common::run_profiled(
        settings.profile, [&] { return run(settings); }, settings.language);
  } catch (const std::exception& error) {
    std::cerr << "tape_walk: " << error.what() << "\n";
    return common::failure_exit;
  }
}
