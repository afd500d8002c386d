#include <regard/nn/module.hpp>

#include <cstring>

#include <regard/error.hpp>

namespace regard {
namespace detail {
namespace {

bool is_end_of(const std::string& name, const std::string& path) {
  return path.size() > name.size() && path.compare(path.size() - name.size(), name.size(), name) == 0 &&
         path[path.size() - name.size() - 1] == '.';
}

const Parameter* find(const NamedParameters& parameters, const Parameter& wanted) {
  for (const auto& named : parameters)
    if (named.second.same_as(wanted)) return &named.second;
  return nullptr;
}

std::vector<std::string> names_of(const NamedParameters& parameters) {
  std::vector<std::string> names;
  for (const auto& named : parameters) names.push_back(named.first);
  return names;
}

}  // namespace

NamedParameters name_each_once(const NamedParameters& paths) {
  NamedParameters once;
  for (const auto& [path, parameter] : paths) {
    if (find(once, parameter)) continue;
    once.emplace_back(path, parameter);
    const std::string& name = parameter.name();
    if (name.empty() || is_end_of(name, path)) once.back().second.set_name(path);
  }
  return once;
}

std::string path_before(const NamedParameters& paths) {
  // The last one tells: a tied Parameter, which has the name of its first place, is often the first.
  for (auto named = paths.rbegin(); named != paths.rend(); ++named) {
    const std::string& name = named->second.name();
    if (is_end_of(named->first, name)) return name.substr(0, name.size() - named->first.size() - 1);
  }
  return "";
}

void set_trainable(const char* what, const NamedParameters& paths, const std::string& pattern,
                   bool trainable) {
  bool found = false;
  for (auto [path, parameter] : paths) {
    if (!matches(pattern, path)) continue;
    found = true;
    parameter.set_trainable(trainable);
    if (!trainable) parameter.zero_grad();
  }
  if (!found) throw_no_match(what, "parameter", pattern, names_of(paths));
}

void check_clone(const NamedParameters& original, const NamedParameters& copy) {
  if (names_of(original) != names_of(copy))
    throw GraphError("clone: the original has the parameters " + list_names(names_of(original)) +
                     ", the copy " + list_names(names_of(copy)) +
                     "; its constructor (Cloning&, const Module&) must pass on each member");
  for (const auto& [path, parameter] : copy)
    if (find(original, parameter))
      throw GraphError("clone: " + path +
                       " still shares its numbers with the original; the constructor (Cloning& c, "
                       "const Module& from) must pass it through c");
}

namespace {

// Two's complement both ways; the three numbers of a state use all 64 bits.
std::int64_t to_signed(std::uint64_t bits) {
  std::int64_t number;
  static_assert(sizeof number == sizeof bits);
  std::memcpy(&number, &bits, sizeof number);
  return number;
}
std::uint64_t to_unsigned(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

}  // namespace

Tensor pack_random_state(const Rng& rng) {
  const Rng::State& s = rng.state();
  return from_vector<std::int64_t>({to_signed(s.seed), to_signed(s.stream), to_signed(s.counter)}, {3});
}

Rng unpack_random_state(const std::string& name, const Tensor& state) {
  if (state.dtype() != int64 || state.shape() != Shape{3})
    throw ValueError("set_random_state: " + name + " must be int64 [3] (seed, stream, counter), got " +
                     regard::name(state.dtype()) + " " + to_string(state.shape()));
  const std::vector<std::int64_t> numbers = state.to_vector<std::int64_t>();
  return Rng(Rng::State{to_unsigned(numbers[0]), to_unsigned(numbers[1]), to_unsigned(numbers[2])});
}

const Tensor& find_state(const NamedTensors& states, const std::string& path) {
  std::vector<std::string> names;
  for (const auto& [name, state] : states) {
    if (name == path) return state;
    names.push_back(name);
  }
  throw ValueError("set_random_state: no state for " + path + "; there are: " + list_names(names));
}

}  // namespace detail

Parameter Cloning::parameter(const Parameter& from) {
  if (!from.defined()) return {};
  for (const auto& [original, copy] : copied_)
    if (original.same_as(from)) return copy;
  // The two share the numbers until one is stepped: a step overwrites only what nobody else holds.
  Parameter copy(from.value(), from.name());
  copy.set_trainable(from.trainable());
  copied_.emplace_back(from, copy);
  return copy;
}

}  // namespace regard
