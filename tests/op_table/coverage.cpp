#include "op_table/coverage.hpp"

#include <algorithm>
#include <cctype>

namespace regard::test {
namespace {

/// Every blank as one space, too.
std::string without_comments(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "//") == 0) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.compare(at, 2, "/*") == 0) {
      at = std::min(text.find("*/", at), text.size() - 2) + 2;
    } else {
      const bool blank = std::isspace(static_cast<unsigned char>(text[at])) != 0;
      if (!blank || out.empty() || out.back() != ' ') out += blank ? ' ' : text[at];
      ++at;
    }
  }
  return out;
}

/// What stands in no braces but those of namespaces; a body or a class leaves a semicolon behind.
std::string at_namespace_scope(const std::string& text) {
  std::string out, statement;
  int opaque = 0;  // open braces that are no namespace's
  int namespaces = 0;
  for (const char c : text) {
    if (c == '{') {
      const bool is_namespace = opaque == 0 && statement.find("namespace") != std::string::npos;
      is_namespace ? ++namespaces : ++opaque;
      if (is_namespace) statement.clear();
    } else if (c == '}') {
      opaque > 0 ? --opaque : --namespaces;
      if (opaque == 0) {
        out += statement + ";";
        statement.clear();
      }
    } else if (opaque == 0) {
      statement += c;
      if (c == ';') {
        out += statement;
        statement.clear();
      }
    }
  }
  return out;
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
}

/// The function's name if a statement declares one that returns `type`, else nothing.
std::string declared_as(const std::string& statement, const std::string& type) {
  const std::size_t open = statement.find('(');
  const std::size_t start = statement.find(type + " ");
  if (open == std::string::npos || start == std::string::npos || start > open) return "";
  if (start > 0 && in_name(statement[start - 1])) return "";
  std::string name = statement.substr(start + type.size() + 1, open - start - type.size() - 1);
  name.erase(0, name.find_first_not_of(" &*"));
  name.erase(name.find_last_not_of(' ') + 1);
  return name.find(' ') == std::string::npos ? name : "";
}

}  // namespace

std::map<std::string, int> functions_returning_tensors(const std::string& header) {
  std::map<std::string, int> functions;
  const std::string text = at_namespace_scope(without_comments(header));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::string statement = text.substr(at, end - at);
    for (const char* type : {"Tensor", "Tensors"})
      if (const std::string name = declared_as(statement, type); !name.empty()) ++functions[name];
    at = end + 1;
  }
  return functions;
}

std::vector<std::string> complaints(const std::map<std::string, int>& functions, const Rows& rows) {
  std::vector<std::string> out;
  for (const auto& [name, declarations] : functions) {
    const auto of_function = [&name = name](const Row& row) { return row.function() == name; };
    const auto count = std::count_if(rows.begin(), rows.end(), of_function);
    if (count < declarations)
      out.push_back(name + " is declared " + std::to_string(declarations) + " times, but has " +
                    std::to_string(count) + " rows; add one per way to call it in tests/op_table");
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (rows[i].name == rows[j].name) out.push_back("two rows are called " + rows[i].name);
  return out;
}

}  // namespace regard::test
