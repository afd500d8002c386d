// Which functions the table must cover: read from the public headers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "op_table/table.hpp"

namespace regard::test {

/// How often each function that returns Tensor or Tensors is declared at namespace scope in a header's text.
/// Members, comments and bodies do not count. Operators go by "operator+".
std::map<std::string, int> functions_returning_tensors(const std::string& header);

/// What is wrong with the coverage, one line each: a function without as many rows as it has declarations,
/// two rows of one name.
std::vector<std::string> complaints(const std::map<std::string, int>& functions, const Rows& rows);

}  // namespace regard::test
