#include "support/program.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "study/temporary_folder.hpp"

namespace regard::test {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Outcome run_program(const std::string& command, const std::string& input) {
  const study::TemporaryFolder folder;
  std::ofstream(folder / "in") << input;
  const std::string whole = "(" + command + ") >" + (folder / "out").string() + " 2>" +
                            (folder / "err").string() + " <" + (folder / "in").string();
  const int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(folder / "out"), text_of(folder / "err")};
}

}  // namespace regard::test
