#include "io/header.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include <regard/error.hpp>

namespace regard::detail {
namespace {

using nlohmann::json;

constexpr const char* metadata_key = "__metadata__";

struct TypeName {
  DType dtype;
  const char* name;
};
constexpr TypeName type_names[] = {
    {DType::float64, "F64"}, {DType::float32, "F32"}, {DType::int64, "I64"}, {DType::boolean, "BOOL"}};

[[noreturn]] void fail(const std::string& text) {
  throw IoError(text);
}

std::string in_quotes(const std::string& text) {
  return '"' + text + '"';
}

// Takes the header apart as it is read: nothing is built that the header might make large or deep, and a key
// that comes twice is seen. Where in the document it stands is told by the depth and the last keys.
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  Header header;

  bool start_object(std::size_t) override {
    if (++depth_ == 1) return true;
    if (depth_ != 2 || in_list_) fail(where() + " is nested too deeply");
    if (name_ != metadata_key) {
      header.entries.emplace_back();
      header.entries.back().name = name_;
    }
    fields_.clear();
    return true;
  }

  bool key(string_t& key) override {
    if (depth_ == 1) {
      name_ = key;
      field_.clear();
      if (!names_.insert(key).second) fail("duplicate key " + in_quotes(key));
    } else {
      field_ = key;
      if (!fields_.insert(key).second) fail("duplicate key " + in_quotes(key) + " in " + in_quotes(name_));
      if (name_ != metadata_key && key != "dtype" && key != "shape" && key != "data_offsets")
        fail("unknown key " + in_quotes(key) + " in " + in_quotes(name_));
    }
    return true;
  }

  bool end_object() override {
    if (depth_-- == 2 && name_ != metadata_key) {
      for (const char* needed : {"dtype", "shape", "data_offsets"})
        if (!fields_.count(needed)) fail(in_quotes(name_) + " has no " + needed);
      if (offsets_ != 2) fail(in_quotes(name_) + ": data_offsets must be two numbers");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (in_list_ || depth_ != 2 || (field_ != "shape" && field_ != "data_offsets") || name_ == metadata_key)
      fail(where() + " must not be a list");
    in_list_ = true;
    if (field_ == "data_offsets") offsets_ = 0;
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }

  bool string(string_t& text) override {
    if (depth_ == 2 && name_ == metadata_key) {
      header.metadata[field_] = text;
    } else if (depth_ == 2 && field_ == "dtype") {
      set_dtype(text);
    } else {
      fail(where() + " must not be a string");
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_list_) fail(where() + " must not be a number");
    HeaderEntry& entry = header.entries.back();
    if (field_ == "shape") {
      if (value > static_cast<number_unsigned_t>(std::numeric_limits<Size>::max()))
        fail(in_quotes(name_) + ": the extent " + std::to_string(value) + " is too large");
      if (entry.shape.rank() == max_rank)
        fail(in_quotes(name_) + " has more than " + std::to_string(max_rank) + " axes");
      entry.shape.push_back(static_cast<Size>(value));
    } else {
      (offsets_ == 0 ? entry.begin : entry.end) = value;
      if (++offsets_ > 2) fail(in_quotes(name_) + ": data_offsets must be two numbers");
    }
    return true;
  }

  bool null() override { fail(where() + " must not be null"); }
  bool boolean(bool) override { fail(where() + " must not be a boolean"); }
  bool number_integer(number_integer_t) override { fail(where() + " must not be negative"); }
  bool number_float(number_float_t, const string_t& text) override {
    fail(where() + ": " + text + " is no whole number");
  }
  bool binary(binary_t&) override { fail(where() + " must not be binary"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail("the header is no JSON from its byte " + std::to_string(position) + " on");
  }

 private:
  std::string where() const {
    if (depth_ == 0) return "the header";
    return depth_ == 1 || field_.empty() ? in_quotes(name_) : in_quotes(field_) + " of " + in_quotes(name_);
  }

  void set_dtype(const std::string& text) {
    for (const TypeName& known : type_names)
      if (text == known.name) {
        header.entries.back().dtype = known.dtype;
        return;
      }
    fail(in_quotes(name_) + " has the dtype " + in_quotes(text) + "; F64, F32, I64 and BOOL can be read");
  }

  int depth_ = 0;
  bool in_list_ = false;
  int offsets_ = 0;
  std::string name_, field_;
  std::set<std::string> names_, fields_;
};

// Bytes that shape and dtype ask for. Also with an extent of 0 the others must fit together, as strides are
// made of them.
std::uint64_t bytes_of(const HeaderEntry& entry) {
  Size bytes = item_size(entry.dtype);
  bool empty = false;
  for (const Size extent : entry.shape) {
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, extent, &bytes))
      fail(in_quotes(entry.name) + ": the shape " + to_string(entry.shape) + " is too large");
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

void check_places(std::vector<HeaderEntry>& entries, std::uint64_t data_bytes) {
  std::stable_sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t covered = 0;
  for (const HeaderEntry& entry : entries) {
    if (entry.begin > entry.end || entry.end > data_bytes)
      fail(in_quotes(entry.name) + " lies at bytes " + std::to_string(entry.begin) + " to " +
           std::to_string(entry.end) + " of " + std::to_string(data_bytes));
    if (entry.begin != covered)
      fail(in_quotes(entry.name) + " begins at byte " + std::to_string(entry.begin) +
           (entry.begin < covered ? ", inside the tensor before it" : ", behind a hole") + " that ends at " +
           std::to_string(std::max(covered, entry.begin)));
    if (entry.end - entry.begin != bytes_of(entry))
      fail(in_quotes(entry.name) + " has " + std::to_string(entry.end - entry.begin) + " bytes, but " +
           name(entry.dtype) + " " + to_string(entry.shape) + " takes " + std::to_string(bytes_of(entry)));
    covered = entry.end;
  }
  if (covered != data_bytes)
    fail("the tensors end at byte " + std::to_string(covered) + " of " + std::to_string(data_bytes));
}

}  // namespace

Header parse_header(std::string_view text, std::uint64_t data_bytes) {
  if (text.empty() || text.front() != '{') fail("the header does not begin with {");
  HeaderReader reader;
  json::sax_parse(text.begin(), text.end(), &reader);
  check_places(reader.header.entries, data_bytes);
  return std::move(reader.header);
}

std::string write_header(const Header& header) {
  std::set<std::string> names;
  try {
    nlohmann::ordered_json document = nlohmann::ordered_json::object();
    if (!header.metadata.empty()) document[metadata_key] = header.metadata;
    for (const HeaderEntry& entry : header.entries) {
      if (entry.name == metadata_key)
        throw ValueError("save: a tensor must not be called " + in_quotes(metadata_key));
      if (!names.insert(entry.name).second)
        throw ValueError("save: two tensors are called " + in_quotes(entry.name));
      const auto* type = std::find_if(std::begin(type_names), std::end(type_names),
                                      [&](const TypeName& known) { return known.dtype == entry.dtype; });
      document[entry.name] = {{"dtype", type->name},
                              {"shape", std::vector<Size>(entry.shape.begin(), entry.shape.end())},
                              {"data_offsets", {entry.begin, entry.end}}};
    }
    std::string text = document.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
  } catch (const json::type_error&) {
    throw ValueError("save: a name or the metadata is not UTF-8");
  }
}

}  // namespace regard::detail
