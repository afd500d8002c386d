#pragma once
// What you write, each in a file of its own, and how one file's function is told apart from one that is not
// written yet.

#include <stdexcept>
#include <string>

#include <regard/regard.hpp>

namespace exercises {

/// softmax_vjp.cpp: dL/dx from y = softmax(x), along the last axis, and dy = dL/dy. Any rank from 1 on.
regard::Tensor softmax_vjp(const regard::Tensor& y, const regard::Tensor& dy);

/// matmul_vjp.cpp: {dL/da, dL/db} from dy = dL/d(a·b); a [.., n, k], b [.., k, m], dy [.., n, m], with the
/// same leading axes.
regard::Tensors matmul_vjp(const regard::Tensor& a, const regard::Tensor& b, const regard::Tensor& dy);

/// masked_softmax.cpp: softmax along the last axis over the scores where `keep` (boolean, broadcast to the
/// scores) is true; 0 elsewhere, and in a row that keeps nothing.
regard::Tensor masked_softmax(const regard::Tensor& scores, const regard::Tensor& keep);

/// soft_cap.cpp: cap·tanh(x / cap), as an operation of your own with a gradient rule of its own.
regard::Tensor soft_cap(const regard::Tensor& x, double cap);

/// One way to write each of them, in solutions/.
namespace solutions {
regard::Tensor softmax_vjp(const regard::Tensor& y, const regard::Tensor& dy);
regard::Tensors matmul_vjp(const regard::Tensor& a, const regard::Tensor& b, const regard::Tensor& dy);
regard::Tensor masked_softmax(const regard::Tensor& scores, const regard::Tensor& keep);
regard::Tensor soft_cap(const regard::Tensor& x, double cap);
}  // namespace solutions

struct NotWritten : std::logic_error {
  using std::logic_error::logic_error;
};

/// What a skeleton does instead; it takes the arguments so that none is unused.
template <class... Arguments>
[[noreturn]] void not_written_yet(const std::string& exercise, const Arguments&...) {
  throw NotWritten(exercise + " is not written yet");
}

}  // namespace exercises
