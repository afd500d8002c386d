// A public function without a row is named here.
#include "op_table/coverage.hpp"

#include <fstream>
#include <sstream>

namespace regard::test {
namespace {

std::string public_header(const std::string& name) {
  const std::string path = std::string(REGARD_SOURCE_DIR) + "/include/regard/" + name;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path << " cannot be read";
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::map<std::string, int> public_functions() {
  std::map<std::string, int> functions;
  for (const char* name : {"ops.hpp", "loss.hpp", "attention.hpp"})
    for (const auto& [function, times] : functions_returning_tensors(public_header(name)))
      functions[function] += times;
  return functions;
}

TEST(Coverage, EveryPublicFunctionHasARowForEachOfItsDeclarations) {
  for (const std::string& complaint : complaints(public_functions(), op_table())) ADD_FAILURE() << complaint;
}

// The scan sees what is there: no more than a spot check, against a header that it cannot read any longer.
TEST(Coverage, FindsThePublicFunctions) {
  const auto functions = public_functions();
  EXPECT_GE(functions.size(), 60u);
  for (const auto& [name, times] : std::map<std::string, int>{{"add", 2},
                                                              {"sum", 2},
                                                              {"softmax", 2},
                                                              {"split", 2},
                                                              {"operator*", 3},
                                                              {"operator-", 4},
                                                              {"attention", 1},
                                                              {"cross_entropy", 1},
                                                              {"dropout", 1}}) {
    const auto found = functions.find(name);
    ASSERT_NE(found, functions.end()) << name;
    EXPECT_EQ(found->second, times) << name;
  }
}

const char* const fake_header = R"(
namespace regard REGARD_API {
// Tensor in_a_comment(const Tensor& x);
/* Tensor in_another(const Tensor& x); */
struct Options { Tensor member; Tensor method() const { return member; } };
class Mask {
 public:
  [[nodiscard]] Tensor resolve(int n) const;
};
enum class Keep { no, axes };
bool all(const Tensor& x);
using Function = std::function<Tensor(const Tensor&)>;
inline void walk(const Tensor& x) { Tensor inside(x); }
namespace nested {
[[nodiscard]] Tensors halves(const Tensor& x, int axis = 0);
}
[[nodiscard]] Tensor
    forgotten(const Tensor& x, const Options& options = {});
[[nodiscard]] inline Tensor operator%(const Tensor& a, double b) { return forgotten(a); }
[[nodiscard]] Tensor twice(const Tensor& x);
[[nodiscard]] Tensor twice(const Tensor& x, double y);
}
)";

TEST(Coverage, ReadsDeclarationsAtNamespaceScopeOnly) {
  const std::map<std::string, int> expected = {
      {"halves", 1}, {"forgotten", 1}, {"operator%", 1}, {"twice", 2}};
  EXPECT_EQ(functions_returning_tensors(fake_header), expected);
}

TEST(Coverage, NamesWhatIsMissingAndWhatIsThereTwice) {
  const auto row = [](const char* name) {
    Row out;
    out.name = name;
    return out;
  };
  const Rows rows = {row("halves"), row("twice"), row("operator% number"), row("operator% number")};
  const std::vector<std::string> expected = {
      "forgotten is declared 1 times, but has 0 rows; add one per way to call it in tests/op_table",
      "twice is declared 2 times, but has 1 rows; add one per way to call it in tests/op_table",
      "two rows are called operator% number",
  };
  EXPECT_EQ(complaints(functions_returning_tensors(fake_header), rows), expected);
}

}  // namespace
}  // namespace regard::test
