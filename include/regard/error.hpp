// The exceptions regard throws. Every text names the operation, what it expected, what it got and,
// where there is one, a way out. All derive from regard::Error, itself a std::runtime_error.
#pragma once

#include <stdexcept>
#include <string>

#include <regard/export.hpp>

namespace REGARD_API regard {

/// Base of everything regard throws on purpose.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Shapes, ranks or axes that do not fit the operation.
struct ShapeError : Error {
  using Error::Error;
};

/// A dtype the operation does not take, or two that do not go together.
struct DTypeError : Error {
  using Error::Error;
};

/// An index, id or option outside its range.
struct ValueError : Error {
  using Error::Error;
};

/// Misuse of the graph: a second backward through a freed graph, a gradient of something unreachable, ...
struct GraphError : Error {
  using Error::Error;
};

/// A file or folder that cannot be read or written, or whose content is not what its format promises.
struct IoError : Error {
  using Error::Error;
};

}  // namespace regard
