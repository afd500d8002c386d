// An op is one constant record: its name, its kernel, and its gradient rule.
#pragma once

#include <cstring>
#include <type_traits>

#include <regard/tensor.hpp>

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::detail {

/// What an op needs to know beyond its inputs (an axis, a scale): one small plain struct, copied into the node.
class Attributes {
 public:
  Attributes() {}
  Attributes(const Attributes& other) { *this = other; }
  Attributes& operator=(const Attributes& other) {
    text_ = other.text_;
    if (text_) std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    return *this;
  }
  template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, Attributes>>>
  Attributes(const T& value) {  // NOLINT: written as apply(op, ..., Axis{2})
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof bytes_ && alignof(T) <= 8);
    std::memcpy(bytes_, &value, sizeof(T));
    text_ = [](const void* bytes) { return text_of(*static_cast<const T*>(bytes), 0); };
  }
  const void* data() const { return bytes_; }
  /// "axis=2", for whoever lists what ran; empty where there is nothing to say.
  std::string text() const { return text_ ? text_(bytes_) : ""; }

 private:
  template <class T>
  static auto text_of(const T& value, int) -> decltype(to_text(value)) { return to_text(value); }
  template <class T>
  static std::string text_of(const T&, long) { return ""; }
  static std::string text_of(double value, int) { return kernels::named_number("value", value); }

  alignas(8) unsigned char bytes_[64];  // unset where there are none
  std::string (*text_)(const void*) = nullptr;
};

/// What a gradient rule sees. Rules are written with differentiable ops, so that they can be differentiated.
struct Vjp {
  const Tensor& dy;        ///< gradient of the output, in the output's shape
  const Tensor& y;         ///< the output
  const Tensor* inputs;
  int input_count;
  const Attributes& attributes;

  const Tensor& x(int i = 0) const { return inputs[i]; }
  template <class T>
  const T& get() const {
    return *static_cast<const T*>(attributes.data());
  }
};

/// dL/dx of one input, in its shape (or in the output's shape, if the op broadcasts).
using Rule = Tensor (*)(const Vjp& at);
/// The same, added in place to what `dx` holds, with the bits of the rule and an addition; false, and nothing done, where
/// that cannot be had. Only while the walk records nothing.
using AddingRule = bool (*)(const Vjp& at, const Tensor& dx);
/// All inputs at once: fills dx[i] where needed[i]. An undefined dx[i] means no gradient.
using NodeRule = void (*)(const Vjp& at, const bool* needed, Tensor* dx);

/// Which array's dtype picks the kernel.
enum class DispatchOn { output, first_input };

struct Op {
  static constexpr int max_rules = 6;

  const char* name;
  kernels::KernelSet kernels;
  Rule rules[max_rules] = {};      ///< rules[i] for input i; null: that input gets no gradient
  NodeRule node_rule = nullptr;    ///< instead of rules, where one kernel yields several gradients
  bool broadcasts = false;         ///< kernels see every input stretched to the output's shape
  DispatchOn dispatch_on = DispatchOn::output;
  AddingRule adding[max_rules] = {};  ///< beside rules, where one kernel can do both

  bool has_rule(int i) const { return node_rule || (i < max_rules && rules[i]); }
};

}  // namespace regard::detail
