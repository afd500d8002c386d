// Probe: a named place through which a value passes, where it can be watched, replaced, or its gradient seen.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <regard/export.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {

class Probe;

namespace detail {

/// Something attached to a probe. An undefined result leaves the value (or the gradient) as it is.
struct Interception {
  std::function<Tensor(const std::string& name, const Tensor& value)> call;
  bool on_gradient = false;  ///< it is called with gradients
};
struct ProbeState;
class AttachmentPlace;

}  // namespace detail

/// Keeps what was attached in place while it lives.
class Attachment {
 public:
  Attachment() = default;
  Attachment(Attachment&&) noexcept = default;
  Attachment& operator=(Attachment&& other) noexcept;
  ~Attachment();

  /// Takes it away before that. Values that passed already keep what was done to them.
  void detach() noexcept;

 private:
  friend class detail::AttachmentPlace;
  std::shared_ptr<detail::Interception> what_;
  std::vector<std::weak_ptr<detail::ProbeState>> where_;
};

/// A member of a module; the module sends an intermediate value through it and goes on with what comes out.
class Probe {
 public:
  Probe();
  Probe(Probe&&) noexcept = default;
  Probe& operator=(Probe&&) noexcept = default;
  ~Probe() = default;

  /// x itself, unless something is attached. What is attached runs in the order of attaching, each on what
  /// the earlier ones made of the value; then the gradient hooks are hung on the result. ShapeError,
  /// DTypeError when a replacement does not fit.
  [[nodiscard]] Tensor operator()(const Tensor& x) const;

  /// Whether anything is attached: a module may take a faster way where nobody looks.
  [[nodiscard]] bool watched() const;

 private:
  friend class detail::AttachmentPlace;
  std::shared_ptr<detail::ProbeState> state_;
};

namespace detail {

Attachment attach(const char* what, const std::vector<std::pair<std::string, Probe*>>& probes,
                  const std::string& pattern, Interception interception);

/// f(value) or f(path, value), returning nothing or a Tensor.
template <class F>
Interception make_interception(F f) {
  static_assert(
      std::is_invocable_v<F&, const std::string&, const Tensor&> || std::is_invocable_v<F&, const Tensor&>,
      "what is attached to a probe takes (const Tensor& value) or (const std::string& path, const Tensor& "
      "value)");
  if constexpr (std::is_invocable_v<F&, const Tensor&>) {
    return make_interception(
        [f = std::move(f)](const std::string&, const Tensor& value) mutable { return f(value); });
  } else if constexpr (std::is_void_v<std::invoke_result_t<F&, const std::string&, const Tensor&>>) {
    return {[f = std::move(f)](const std::string& path, const Tensor& value) mutable {
      return f(path, value), Tensor();
    }};
  } else {
    return {std::move(f)};
  }
}

}  // namespace detail
}  // namespace regard
