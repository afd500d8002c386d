// Explains one row of an attention: its scores, weights and gradients, the softmax's Jacobian, and which key
// gains and why.
//
//   explain                              the third of three tokens, "the cat sat", looking back
//   explain --query 1 --mask full        another row, seeing all
//   explain --out folder                 explanation.svg as well
#include <filesystem>
#include <iostream>

#include <regard/study/explain.hpp>

#include "common/exit_codes.hpp"
#include "common/flags.hpp"
#include "common/folder.hpp"
#include "common/profile.hpp"
#include "walk/three_tokens.hpp"

namespace {

using namespace regard;

struct Settings {
  Size query = 2;
  std::string mask = "causal", language = "en", out;
  common::Profile profile;
};

int run(const Settings& settings) {
  const walk::ThreeTokens tokens(settings.mask == "causal" ? walk::Visibility::causal
                                                           : walk::Visibility::full);
  study::ExplainOptions options;
  options.query = settings.query;
  options.key_names = {"the", "cat", "sat"};
  options.query_name = options.key_names[static_cast<std::size_t>(settings.query)];
  const study::RowExplanation row =
      study::explain(tokens.q, tokens.k, tokens.v, Mask::keep(tokens.keep), options, tokens.upstream);
  std::cout << study::explanation_text(row, settings.language);
  if (settings.out.empty()) return 0;
  common::prepare_folder(settings.out);
  const std::filesystem::path picture = std::filesystem::path(settings.out) / "explanation.svg";
  study::write_explanation_svg(picture, row, settings.language);
  std::cout << picture.string() << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app(
      "Explains one row of an attention over three tokens: scores, weights, gradients, the softmax's "
      "Jacobian, and which "
      "key gains and why.");
  common::set_style(app);
  app.add_option("--query", settings.query, "the row: 0, 1 or 2")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
  app.add_option("--mask", settings.mask, "what a token sees")
      ->check(CLI::IsMember({"causal", "full"}))
      ->capture_default_str();
  app.add_option("--language", settings.language, "of texts")
      ->check(CLI::IsMember({"en", "vi"}))
      ->capture_default_str();
  app.add_option("--out", settings.out, "a folder; writes explanation.svg there");
  common::add_profile_flag(app, settings.profile);
  if (const std::optional<int> code = common::parse_flags(app, argc, argv, [] {})) return *code;
  try {
    return common::run_profiled(
        settings.profile, [&] { return run(settings); }, settings.language);
  } catch (const std::exception& error) {
    std::cerr << "explain: " << error.what() << "\n";
    return common::failure_exit;
  }
}
