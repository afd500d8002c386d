#include <regard/io/safetensors.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include <regard/error.hpp>
#include <regard/optim.hpp>

#include "io/atomic_file.hpp"
#include "io/header.hpp"
#include "study/temporary_folder.hpp"
#include "support/close.hpp"
#include "support/golden.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

using study::TemporaryFolder;

// A file with this header (padded as it is) and this many bytes of numbers.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\0');
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}";
}

SavedTensors load_bytes(const std::string& bytes) {
  return detail::parse_file(bytes);
}

class Safetensors : public ::testing::Test {
 protected:
  void expect_refused(const std::string& header, std::size_t data_bytes, const std::string& fragment) const {
    EXPECT_THROWS_WITH(load_bytes(file_of(header, data_bytes)), IoError, fragment) << header;
  }
  std::string saved(const NamedTensors& tensors, const Metadata& metadata = {}) const {
    save(folder_ / "saved", tensors, metadata);
    return read_whole_file(folder_ / "saved");
  }
  TemporaryFolder folder_;
};

NamedTensors samples() {
  const double infinity = std::numeric_limits<double>::infinity();
  return {{"weight", tensor({{1.5, -2, 0.25}, {infinity, std::nan(""), -0.0}})},
          {"half/ê", tensor({3.5, 4.5}, float32)},
          {"ids", scalar(-7, int64)},
          {"mask", tensor({true, false, true}, boolean)},
          {"none", zeros({0, 3})}};
}

void expect_same(const NamedTensors& found, const NamedTensors& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, value] : expected) {
    bool there = false;
    for (const auto& [other, tensor] : found) {
      if (other != name) continue;
      there = true;
      EXPECT_SAME_BITS(tensor, value) << name;
    }
    EXPECT_TRUE(there) << name;
  }
}

// ---- round trips ---------------------------------------------------------------------------------------

TEST_F(Safetensors, LoadsWhatItSaved) {
  const Metadata metadata = {{"steps", "600"}, {"chữ", "tiếng \"Việt\"\n"}};
  const std::string bytes = saved(samples(), metadata);
  const SavedTensors loaded = load_bytes(bytes);
  expect_same(loaded.tensors, samples());
  EXPECT_EQ(loaded.metadata, metadata);
  EXPECT_EQ(saved(loaded.tensors, loaded.metadata), bytes);
}

TEST_F(Safetensors, LoadsNothing) {
  const SavedTensors loaded = load_bytes(saved({}));
  EXPECT_TRUE(loaded.tensors.empty());
  EXPECT_TRUE(loaded.metadata.empty());
}

TEST_F(Safetensors, SavesAnyLayout) {
  Rng rng(4);
  const Tensor x = test::random_tensor({3, 4}, rng);
  for (const test::Layout layout : test::all_layouts)
    EXPECT_EQ(saved({{"x", test::with_layout(x, layout)}}), saved({{"x", x}})) << layout;
}

TEST_F(Safetensors, ReadsAFileOfThePythonPackage) {
  const SavedTensors loaded = load(test::golden_path("from_python.safetensors"));
  expect_same(loaded.tensors, samples());
  EXPECT_EQ(loaded.metadata, (Metadata{{"made by", "safetensors"}, {"chữ", "tiếng Việt"}}));
}

TEST_F(Safetensors, EachNumberLiesWhereItsWidthDivides) {
  const std::string bytes =
      saved({{"b", tensor({true}, boolean)}, {"f", tensor({1}, float32)}, {"d", tensor({1})}});
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const auto loaded = load_bytes(bytes).tensors;
  EXPECT_EQ(loaded[0].first, "d");
  EXPECT_EQ(loaded[2].first, "b");
}

// A length whose low byte is above 127.
TEST_F(Safetensors, B56_ReadsHeadersOfEveryLength) {
  for (std::size_t padding = 0; padding < 300; ++padding) {
    const std::string header = "{" + entry("a", "I64", "[1]", "[0,8]") + std::string(padding, ' ') + "}";
    EXPECT_EQ(load_bytes(file_of(header, 8)).tensors.size(), 1u) << padding;
  }
}

TEST_F(Safetensors, SaveRefusesWhatNoFileCanHold) {
  const Tensor x = tensor({1});
  EXPECT_THROWS_WITH(saved({{"a", x}, {"a", x}}), ValueError, "two tensors are called \"a\"");
  EXPECT_THROWS_WITH(saved({{"__metadata__", x}}), ValueError, "must not be called");
  EXPECT_THROWS_WITH(saved({{"a", Tensor()}}), ValueError, "a is an empty handle");
  EXPECT_THROWS_WITH(saved({{"\xff", x}}), ValueError, "not UTF-8");
  EXPECT_THROWS_WITH((save(folder_ / "no" / "file", NamedTensors{{"a", x}}), 0), IoError, "no/file");
}

TEST_F(Safetensors, LoadNamesTheFile) {
  EXPECT_THROWS_WITH(load(folder_ / "absent"), IoError, "absent");
  write_file_atomically(folder_ / "short", "1234567");
  EXPECT_THROWS_WITH(load(folder_ / "short"), IoError,
                     "short: it has 7 bytes, too few for a safetensors file");
}

// ---- files that are not trusted ------------------------------------------------------------------------

TEST_F(Safetensors, B56_EveryTruncationIsAnError) {
  const std::string bytes = saved(samples(), {{"a", "b"}});
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROWS_WITH(load_bytes(bytes.substr(0, length)), IoError, "")
        << "the first " << length << " bytes";
  EXPECT_THROWS_WITH(load_bytes(bytes + '\0'), IoError, "the tensors end at byte");
}

// Each bit turned over, and each byte turned into what means something in a header.
TEST_F(Safetensors, EveryChangedByteIsAnErrorOrAValue) {
  const std::string bytes = saved({{"w", tensor({{1, 2}})}, {"ok", tensor({true}, boolean)}}, {{"a", "b"}});
  std::size_t tried = 0, refused = 0;
  const auto attempt = [&](std::size_t place, char value) {
    std::string changed = bytes;
    changed[place] = value;
    ++tried;
    try {
      for (const auto& [name, tensor] : load_bytes(changed).tensors) EXPECT_LE(tensor.numel(), 17) << name;
    } catch (const IoError&) {
      ++refused;
    }
  };
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    for (int bit = 0; bit < 8; ++bit) attempt(place, static_cast<char>(bytes[place] ^ (1 << bit)));
    for (const char sign : std::string("\"{}[],:\\-9")) attempt(place, sign);
  }
  EXPECT_GT(refused, tried / 2);
  EXPECT_LT(refused, tried);  // the numbers themselves may be anything
}

TEST_F(Safetensors, B55_RefusesADuplicateKeyByItsName) {
  expect_refused("{" + entry("a", "F64", "[1]", "[0,8]") + "," + entry("a", "F64", "[1]", "[0,8]") + "}", 8,
                 "duplicate key \"a\"");
  expect_refused("{" + entry("a", "F64", "[1]", "[0,8]") + "," + entry("a", "F64", "[1]", "[8,16]") + "}", 16,
                 "duplicate key \"a\"");
  expect_refused(R"({"a":{"dtype":"F64","dtype":"F64","shape":[1],"data_offsets":[0,8]}})", 8,
                 "duplicate key \"dtype\" in \"a\"");
  expect_refused(R"({"__metadata__":{"k":"1","k":"2"}})", 0, "duplicate key \"k\"");
}

TEST_F(Safetensors, RefusesHolesAndOverlaps) {
  expect_refused("{" + entry("a", "F64", "[1]", "[8,16]") + "}", 16, "\"a\" begins at byte 8, behind a hole");
  expect_refused("{" + entry("a", "F64", "[1]", "[0,8]") + "," + entry("b", "F64", "[1]", "[0,8]") + "}", 8,
                 "inside the tensor before it");
  expect_refused("{" + entry("a", "F64", "[2]", "[0,16]") + "," + entry("b", "F64", "[1]", "[8,16]") + "}",
                 16, "\"b\" begins at byte 8, inside");
  expect_refused("{" + entry("a", "F64", "[1]", "[0,8]") + "}", 9, "the tensors end at byte 8 of 9");
  expect_refused("{}", 1, "the tensors end at byte 0 of 1");
}

TEST_F(Safetensors, RefusesPlacesThatDoNotFit) {
  expect_refused("{" + entry("a", "F64", "[1]", "[8,0]") + "}", 8, "lies at bytes 8 to 0 of 8");
  expect_refused("{" + entry("a", "F64", "[1]", "[0,16]") + "}", 8, "lies at bytes 0 to 16 of 8");
  expect_refused("{" + entry("a", "F64", "[2]", "[0,8]") + "}", 8,
                 "\"a\" has 8 bytes, but float64 [2] takes 16");
  expect_refused("{" + entry("a", "F64", "[0]", "[0,8]") + "}", 8, "takes 0");
  expect_refused("{" + entry("a", "F64", "[1]", "[0,8,8]") + "}", 8, "must be two numbers");
  expect_refused("{" + entry("a", "F64", "[1]", "[0]") + "}", 8, "must be two numbers");
  expect_refused("{" + entry("a", "F64", "[1]", "[-8,0]") + "}", 8, "must not be negative");
  expect_refused("{" + entry("a", "F64", "[1]", "[0,18446744073709551615]") + "}", 8,
                 "to 18446744073709551615 of 8");
  expect_refused("{" + entry("a", "F64", "[1]", "[0,18446744073709551624]") + "}", 8, "no whole number");
}

TEST_F(Safetensors, RefusesShapesThatOverflow) {
  expect_refused("{" + entry("a", "F64", "[4294967296,4294967296]", "[0,0]") + "}", 0, "is too large");
  expect_refused("{" + entry("a", "F64", "[2305843009213693952]", "[0,0]") + "}", 0, "is too large");
  expect_refused("{" + entry("a", "F64", "[0,9223372036854775807,9223372036854775807]", "[0,0]") + "}", 0,
                 "too large");
  expect_refused("{" + entry("a", "F64", "[9223372036854775808]", "[0,0]") + "}", 0,
                 "extent 9223372036854775808");
  expect_refused("{" + entry("a", "F64", "[1,1,1,1,1,1,1,1,1]", "[0,8]") + "}", 8, "more than 8 axes");
  expect_refused("{" + entry("a", "F64", "[-1]", "[0,8]") + "}", 8, "must not be negative");
  expect_refused("{" + entry("a", "F64", "[1.0]", "[0,8]") + "}", 8, "no whole number");
}

TEST_F(Safetensors, RefusesWhatIsNoHeader) {
  expect_refused("", 0, "does not begin with {");
  expect_refused(" {}", 0, "does not begin with {");
  expect_refused("[]", 0, "does not begin with {");
  expect_refused("{", 0, "is no JSON");
  expect_refused("{}x", 0, "is no JSON");
  expect_refused(R"({"a":1})", 0, "\"a\" must not be a number");
  expect_refused(R"({"a":null})", 0, "must not be null");
  expect_refused(R"({"a":[]})", 0, "must not be a list");
  expect_refused(R"({"a":"F64"})", 0, "must not be a string");
  expect_refused(R"({"a":{}})", 0, "\"a\" has no dtype");
  expect_refused(R"({"a":{"dtype":"F64","shape":[1]}})", 0, "\"a\" has no data_offsets");
  expect_refused(R"({"a":{"dtype":"F64","shape":1,"data_offsets":[0,8]}})", 8,
                 "\"shape\" of \"a\" must not be a number");
  expect_refused(R"({"a":{"dtype":["F64"]}})", 0, "must not be a list");
  expect_refused(R"({"a":{"dtype":true}})", 0, "must not be a boolean");
  expect_refused(R"({"a":{"shape":[[1]]}})", 0, "must not be a list");
  expect_refused(R"({"a":{"shape":["1"]}})", 0, "must not be a string");
  expect_refused(R"({"a":{"shape":[{}]}})", 0, "nested too deeply");
  expect_refused(R"({"a":{"dtype":{}}})", 0, "nested too deeply");
  expect_refused(R"({"a":{"stride":[1]}})", 0, "unknown key \"stride\" in \"a\"");
  expect_refused("{" + entry("a", "F16", "[1]", "[0,2]") + "}", 2, "dtype \"F16\"; F64, F32, I64 and BOOL");
  expect_refused(R"({"__metadata__":{"a":1}})", 0, "must not be a number");
  expect_refused(R"({"__metadata__":{"a":[]}})", 0, "must not be a list");
  expect_refused(R"({"__metadata__":"a"})", 0, "must not be a string");
  expect_refused("{\"\xff\":{}}", 0, "is no JSON");
}

TEST_F(Safetensors, NestingCostsNoStack) {
  expect_refused(R"({"a":)" + std::string(1000000, '['), 0, "must not be a list");
  expect_refused("{\"a\":{\"shape\":" + std::string(1000000, '{'), 0, "nested too deeply");
}

TEST_F(Safetensors, RefusesALengthOutOfRange) {
  std::string bytes = file_of("{}", 0);
  for (const std::uint64_t length : {std::uint64_t{3}, std::uint64_t{100000001}, ~std::uint64_t{0}}) {
    std::memcpy(bytes.data(), &length, 8);
    EXPECT_THROWS_WITH(load_bytes(bytes), IoError, length == 3 ? "cut short" : "is the most");
  }
}

TEST_F(Safetensors, RefusesBooleansThatAreNone) {
  std::string bytes = file_of("{" + entry("a", "BOOL", "[2]", "[0,2]") + "}", 2);
  bytes.back() = 2;
  EXPECT_THROWS_WITH(load_bytes(bytes), IoError, "neither 0 nor 1");
}

// ---- into parameters -----------------------------------------------------------------------------------

TEST_F(Safetensors, LoadsIntoParameters) {
  const NamedParameters saved = {{"a", Parameter(tensor({1, 2}))}, {"b", Parameter(tensor({{3}}, float32))}};
  save(folder_ / "model", saved);
  const NamedParameters model = {{"b", Parameter(zeros({1, 1}, float32))}, {"a", Parameter(zeros({2}))}};
  const Tensor before = model[1].second.value();
  const LoadReport report = load(folder_ / "model", model);
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  EXPECT_SAME_BITS(model[1].second.value(), tensor({1, 2}));
  EXPECT_SAME_BITS(model[0].second.value(), tensor({{3}}, float32));
  EXPECT_SAME_BITS(before, zeros({2}));
}

TEST_F(Safetensors, B54_ListsMissingAndUnexpectedNamesTogether) {
  save(folder_ / "model", NamedTensors{{"a", tensor({1})}, {"c", tensor({2})}});
  const NamedParameters model = {{"a", Parameter(tensor({0}))}, {"b", Parameter(tensor({0}))}};
  EXPECT_THROWS_WITH(load(folder_ / "model", model), IoError, "Missing: b. Unexpected: c.");
  EXPECT_EQ(model[0].second.value().item(), 0);
  const LoadReport report = load(folder_ / "model", model, Strict::no);
  EXPECT_EQ(report.missing, std::vector<std::string>{"b"});
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"c"});
  EXPECT_EQ(model[0].second.value().item(), 1);
}

TEST_F(Safetensors, B53_NeverStretchesOrConverts) {
  NamedParameters model = {{"a", Parameter(tensor({7}), "a")}, {"w", Parameter(zeros({3, 2}), "w")}};
  const auto with = [](const Tensor& w) { return NamedTensors{{"a", tensor({1})}, {"w", w}}; };
  for (const Tensor& wrong : {tensor({{5, 6}}), zeros({2, 3}), zeros({6})}) {
    const std::string both =
        "parameter w: the saved value has shape " + to_string(wrong.shape()) + ", expected [3, 2]";
    EXPECT_THROWS_WITH(assign(model, with(wrong)), ShapeError, both);
    EXPECT_THROWS_WITH(assign(model, with(wrong), Strict::no), ShapeError, both);
  }
  EXPECT_THROWS_WITH(assign(model, with(zeros({3, 2}, float32))), DTypeError, "is float32, expected float64");
  EXPECT_EQ(model[0].second.value().item(), 7);
}

// One file holds a whole training state, and it goes on from there bit by bit.
TEST_F(Safetensors, B52_ATrainingStateGoesIntoOneFile) {
  const auto step = [](Optimizer& optimizer, Parameter& w) {
    w.set_gradient(w.value());
    optimizer.step();
  };
  Parameter w(tensor({1, -2}), "w");
  Adam optimizer({w});
  for (int i = 0; i < 3; ++i) step(optimizer, w);
  NamedTensors state = with_prefix("model", values({{"w", w}}));
  for (const auto& named : with_prefix("optimizer", optimizer.state())) state.push_back(named);
  save(folder_ / "state", state);

  Parameter resumed(zeros({2}), "w");
  Adam other({resumed});
  const SavedTensors loaded = load(folder_ / "state");
  (void)assign({{"w", resumed}}, without_prefix("model", loaded.tensors));
  other.load_state(without_prefix("optimizer", loaded.tensors));
  step(optimizer, w);
  step(other, resumed);
  EXPECT_SAME_BITS(resumed.value(), w.value());
}

}  // namespace
}  // namespace regard
