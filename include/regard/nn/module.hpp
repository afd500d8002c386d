// What any module can do, given that it names its members.
//
// A module is a plain struct with an operator() and one member function that names what it is made of:
//
// <!-- declarations -->
// ```cpp
// struct Perceptron {
//   explicit Perceptron(Rng& rng) : hidden(2, 8, rng), output(8, 1, rng) {}
//   Perceptron(Cloning& c, const Perceptron& from)  // for clone()
//       : hidden(c(from.hidden)), output(c(from.output)) {}
//
//   Tensor operator()(const Tensor& x) const { return output(tanh(hidden(x))); }
//   template <class F>
//   void visit(F&& f) {
//     f("hidden", hidden);
//     f("output", output);
//   }
//
//   nn::Linear hidden, output;
// };
// ```
//
// `const Within here(*this);` at the head of operator() lets whoever watches tell whose computation it is.
//
// Named are its Parameters, Probes, Rngs, Modes and submodules; a vector, array, optional or unique_ptr of
// modules counts as one ("layers" with three elements gives layers.0, layers.1, layers.2). visit only names:
// it must change nothing. Modules are moved, not copied (two that share their numbers are rarely what was
// meant); clone() copies. Like a graph, a module belongs to the thread that made it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/export.hpp>
#include <regard/named.hpp>
#include <regard/nn/probe.hpp>
#include <regard/random.hpp>

namespace REGARD_API regard {

/// Whether a module behaves as in training (dropout drops) or as in use.
enum class Mode { train, evaluate };

namespace detail {

struct AnyVisitor {
  template <class Member>
  void operator()(const std::string&, Member&) const {}
};

template <class T, class = void>
struct HasVisit : std::false_type {};
template <class T>
struct HasVisit<T, std::void_t<decltype(std::declval<T&>().visit(AnyVisitor()))>> : std::true_type {};

template <class T>
struct IsSequence : std::false_type {};
template <class T, class A>
struct IsSequence<std::vector<T, A>> : std::true_type {};
template <class T, std::size_t n>
struct IsSequence<std::array<T, n>> : std::true_type {};

template <class T>
struct IsHolder : std::false_type {};
template <class T>
struct IsHolder<std::optional<T>> : std::true_type {};
template <class T, class D>
struct IsHolder<std::unique_ptr<T, D>> : std::true_type {};

template <class T>
inline constexpr bool is_leaf = std::is_same_v<T, Parameter> || std::is_same_v<T, Probe> ||
                                std::is_same_v<T, Rng> || std::is_same_v<T, Mode>;
template <class T>
inline constexpr bool is_module = HasVisit<T>::value || IsSequence<T>::value || IsHolder<T>::value;

/// Calls action(path, leaf) for every leaf of that type, in the order of naming.
template <class Leaf, class Member, class Action>
void for_each_leaf(const std::string& path, Member& member, const Action& action) {
  const auto below = [&path](const std::string& name) { return path.empty() ? name : path + "." + name; };
  if constexpr (std::is_same_v<Member, Leaf>) {
    action(path, member);
  } else if constexpr (is_leaf<Member>) {
    // a leaf of another type
  } else if constexpr (IsSequence<Member>::value) {
    for (std::size_t i = 0; i < member.size(); ++i)
      for_each_leaf<Leaf>(below(std::to_string(i)), member[i], action);
  } else if constexpr (IsHolder<Member>::value) {
    if (member) for_each_leaf<Leaf>(path, *member, action);
  } else {
    static_assert(HasVisit<Member>::value,
                  "visit() named a member that is no Parameter, Probe, Rng, Mode or module; a module needs a "
                  "template <class F> void visit(F&& f) that names its members");
    member.visit(
        [&](const std::string& name, auto& inner) { for_each_leaf<Leaf>(below(name), inner, action); });
  }
}

/// The same through a const reference: visit only names, and the leaves are handles.
template <class Leaf, class Module, class Action>
void for_each_leaf_of(const Module& module, const Action& action) {
  for_each_leaf<Leaf>("", const_cast<Module&>(module), action);
}

/// Every path of every Parameter, also the second path to one that is tied. Names the Parameters.
template <class Module>
NamedParameters all_paths(const Module& module) {
  NamedParameters paths;
  for_each_leaf_of<Parameter>(module, [&paths](const std::string& path, Parameter& parameter) {
    if (parameter.defined()) paths.emplace_back(path, parameter);
  });
  return paths;
}
template <class Module>
std::vector<std::pair<std::string, Probe*>> all_probes(const Module& module) {
  std::vector<std::pair<std::string, Probe*>> probes;
  for_each_leaf_of<Probe>(
      module, [&probes](const std::string& path, Probe& probe) { probes.emplace_back(path, &probe); });
  return probes;
}

/// Each Parameter once, under its first path, which becomes its name if it has none or only the end of that
/// path.
NamedParameters name_each_once(const NamedParameters& paths);
/// ValueError when the pattern means none.
void set_trainable(const char* what, const NamedParameters& paths, const std::string& pattern,
                   bool trainable);
/// GraphError when a Parameter of the copy is also one of the original, or when the paths differ.
void check_clone(const NamedParameters& original, const NamedParameters& copy);
/// What is in front of these names in the names their Parameters have; "" when they have none.
std::string path_before(const NamedParameters& paths);
Tensor pack_random_state(const Rng& rng);
Rng unpack_random_state(const std::string& name, const Tensor& state);
/// ValueError that names `path` when it is not there.
const Tensor& find_state(const NamedTensors& states, const std::string& path);

}  // namespace detail

// ---- parameters ----------------------------------------------------------------------------------------

/// Path and Parameter. A tied one is listed once, under its first path; members without value (a Linear's
/// bias that was not wanted) are left out. Gives each Parameter its path as name, so that errors and
/// optimisers can name it.
template <class Module>
[[nodiscard]] NamedParameters named_parameters(const Module& module) {
  return detail::name_each_once(detail::all_paths(module));
}

/// While it lives, what its thread computes belongs to the module: a tape, the doctor and the anomaly mode of
/// regard/study name it. Its path is read off the names of its Parameters, which named_parameters() of the largest
/// module gives them; what has none belongs to the module around it. Costs two assignments.
class Within : detail::ModuleScope {
 public:
  template <class Module>
  explicit Within(const Module& module)
      : ModuleScope(&module, [](const void* its) {
          return detail::path_before(detail::all_paths(*static_cast<const Module*>(its)));
        }) {}
};

/// The Parameters of one module, or of several, each once.
template <class... Modules>
[[nodiscard]] std::vector<Parameter> parameters(const Modules&... modules) {
  NamedParameters all;
  const auto append = [&all](const NamedParameters& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  (append(named_parameters(modules)), ...);
  std::vector<Parameter> found;
  for (const auto& named : detail::name_each_once(all)) found.push_back(named.second);
  return found;
}

/// Numbers there are to learn: elements of all Parameters, frozen ones included, tied ones once.
template <class Module>
[[nodiscard]] Size parameter_count(const Module& module) {
  Size count = 0;
  for (const Parameter& parameter : parameters(module)) count += numel(parameter.shape());
  return count;
}

/// No Parameter has a gradient afterwards.
template <class Module>
void zero_grad(const Module& module) {
  for (Parameter& parameter : parameters(module)) parameter.zero_grad();
}

/// Parameters whose path the pattern means (see matches()) get no gradient from now on; a gradient they have
/// is dropped. ValueError that lists the paths when there is none. A tied Parameter answers to each of its
/// paths.
template <class Module>
void freeze(const Module& module, const std::string& pattern = "*") {
  detail::set_trainable("freeze", detail::all_paths(module), pattern, false);
}
template <class Module>
void unfreeze(const Module& module, const std::string& pattern = "*") {
  detail::set_trainable("unfreeze", detail::all_paths(module), pattern, true);
}

// ---- modes and random state ----------------------------------------------------------------------------

/// Of the module and all that are in it.
template <class Module>
void set_mode(Module& module, Mode mode) {
  detail::for_each_leaf<Mode>("", module, [mode](const std::string&, Mode& its) { its = mode; });
}
/// As in training: dropout drops.
template <class Module>
void train(Module& module) {
  set_mode(module, Mode::train);
}
/// As in use: dropout passes everything on, and draws nothing.
template <class Module>
void evaluate(Module& module) {
  set_mode(module, Mode::evaluate);
}

/// Where every Rng inside stands: one int64 [3] (seed, stream, counter) per path. Part of a run that can be
/// resumed.
template <class Module>
[[nodiscard]] NamedTensors random_state(const Module& module) {
  NamedTensors states;
  detail::for_each_leaf_of<Rng>(module, [&states](const std::string& path, const Rng& rng) {
    states.emplace_back(path, detail::pack_random_state(rng));
  });
  return states;
}
/// Puts every Rng where random_state() found it. ValueError, with nothing changed, when one is missing or is
/// no state.
template <class Module>
void set_random_state(Module& module, const NamedTensors& states) {
  std::vector<Rng> found;
  detail::for_each_leaf<Rng>("", module, [&](const std::string& path, Rng&) {
    found.push_back(detail::unpack_random_state(path, detail::find_state(states, path)));
  });
  std::size_t next = 0;
  detail::for_each_leaf<Rng>("", module, [&](const std::string&, Rng& rng) { rng = found[next++]; });
}

// ---- copies --------------------------------------------------------------------------------------------

/// What clone() hands to the constructor that makes the copy: Module(Cloning& c, const Module& from). Each
/// member goes through it: weight(c(from.weight)). Parameters that were tied are tied in the copy.
class Cloning {
 public:
  Cloning() = default;
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;

  /// A Parameter gets a cell of its own with the same numbers, name and trainable flag, and no gradient; a
  /// Probe comes out with nothing attached; modules and containers of modules are cloned; anything else is
  /// copied.
  template <class Member>
  [[nodiscard]] Member operator()(const Member& from) {
    if constexpr (std::is_same_v<Member, Parameter>) {
      return parameter(from);
    } else if constexpr (std::is_same_v<Member, Probe>) {
      return Probe();
    } else if constexpr (IsVector<Member>::value) {
      Member copy;
      copy.reserve(from.size());
      for (const auto& element : from) copy.push_back((*this)(element));
      return copy;
    } else if constexpr (detail::IsHolder<Member>::value) {
      return holder(from);
    } else if constexpr (std::is_constructible_v<Member, Cloning&, const Member&>) {
      return Member(*this, from);
    } else {
      static_assert(
          std::is_copy_constructible_v<Member>,
          "clone() needs a constructor Module(Cloning& c, const Module& from) that passes each member "
          "through c");
      return from;
    }
  }

 private:
  template <class T>
  struct IsVector : std::false_type {};
  template <class T, class A>
  struct IsVector<std::vector<T, A>> : std::true_type {};

  template <class T>
  std::optional<T> holder(const std::optional<T>& from) {
    return from ? std::optional<T>((*this)(*from)) : std::nullopt;
  }
  template <class T>
  std::unique_ptr<T> holder(const std::unique_ptr<T>& from) {
    return from ? std::make_unique<T>((*this)(*from)) : nullptr;
  }
  Parameter parameter(const Parameter& from);

  std::vector<std::pair<Parameter, Parameter>> copied_;
};

/// The same module with numbers of its own: neither sees what becomes of the other. Modes and the state of
/// Rngs are copied; gradients and what is attached to probes are not. GraphError when the module's cloning
/// constructor forgot a Parameter.
template <class Module>
[[nodiscard]] Module clone(const Module& module) {
  Cloning cloning;
  Module copy = cloning(module);
  detail::check_clone(detail::all_paths(module), detail::all_paths(copy));
  return copy;
}

// ---- probes --------------------------------------------------------------------------------------------

/// The paths of all probes.
template <class Module>
[[nodiscard]] std::vector<std::string> named_probes(const Module& module) {
  std::vector<std::string> names;
  for (const auto& named : detail::all_probes(module)) names.push_back(named.first);
  return names;
}

/// Calls `f` with every value that passes the probes the pattern means (see matches()), until the result is
/// detached or destroyed. f takes (value) or (path, value). If it returns nothing it watches; if it returns a
/// Tensor, of the same shape and dtype, that Tensor goes on in the value's place. ValueError that lists the
/// paths when there is no such probe.
template <class Module, class F>
[[nodiscard]] Attachment attach(const Module& module, const std::string& pattern, F f) {
  return detail::attach("attach", detail::all_probes(module), pattern,
                        detail::make_interception(std::move(f)));
}

/// Calls `f` with the gradient of every value that passes: f(dx) or f(path, dx), which may return a
/// replacement, as a GradientHook.
template <class Module, class F>
[[nodiscard]] Attachment attach_gradient(const Module& module, const std::string& pattern, F f) {
  detail::Interception hook = detail::make_interception(std::move(f));
  hook.on_gradient = true;
  return detail::attach("attach_gradient", detail::all_probes(module), pattern, std::move(hook));
}

}  // namespace regard
