#include "gradcheck/problem.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <regard/ops.hpp>

#include "autograd/context.hpp"
#include "autograd/node.hpp"

namespace regard::detail {
namespace {

GradOptions walk(const Tensor& seed) {
  GradOptions options;
  options.seeds = {seed};
  options.retain_graph = true;
  return options;
}

/// Follows one tensor's numbers through the kernels that read them.
class Trail : public Observer {
 public:
  explicit Trail(const Tensor& start) : before_(context().observer) {
    add(array(start), "the input itself");
    context().observer = this;
  }
  ~Trail() override { context().observer = before_; }
  Trail(const Trail&) = delete;
  Trail& operator=(const Trail&) = delete;

  void before(const Op& op, const kernels::Call& call) override {
    if (before_) before_->before(op, call);
  }
  void after(const Op& op, const kernels::Call& call) override {
    bool follows = false;
    for (int i = 0; i < call.input_count; ++i) follows = follows || maker_of(call.in(i));
    for (int i = 0; i < call.output_count; ++i) {
      made_.erase(static_cast<const char*>(call.out(i).data));  // memory is used again
      if (follows) add(call.out(i), op.name);
    }
    if (before_) before_->after(op, call);
  }
  /// The op that computed this array from the tensor's numbers; null if none did.
  const char* maker_of(const kernels::Array& array) const {
    const char* first = static_cast<const char*>(array.data);
    const auto next = made_.upper_bound(first);
    return next != made_.begin() && first < std::prev(next)->second.first ? std::prev(next)->second.second
                                                                          : nullptr;
  }

 private:
  void add(const kernels::Array& array, const char* maker) {
    const char* first = static_cast<const char*>(array.data);
    made_[first] = {first + item_size(array.dtype) * numel(array.shape), maker};
  }

  Observer* before_;
  std::map<const char*, std::pair<const char*, const char*>> made_;  // first byte -> behind the last, maker
};

}  // namespace

std::vector<double> numbers_of(const Tensor& x) {
  return x.detach().to(float64).contiguous().to_vector<double>();
}

Tensor tensor_of(const std::vector<double>& numbers, const Tensor& like) {
  return from_vector(numbers, like.shape()).to(like.dtype());
}

Tensor Problem::evaluate(const Tensors& at) const {
  if (order == 1) {
    const NoGrad guard;
    return f(leaves(at)).detach();
  }
  const EnableGrad recording;
  return f(leaves(at)).detach();
}

Problem Problem::derivative(const Tensor& seed, double magnitude_of_f) const {
  Problem next;
  next.names = names;
  next.names.push_back(order == 1 ? "seed" : "seed of order " + std::to_string(order));
  next.values = values;
  next.values.push_back(seed);
  next.order = order + 1;
  next.magnitude = std::max(magnitude, magnitude_of_f);
  next.leaves = [inner = leaves](const Tensors& at) {
    Tensors all = inner(Tensors(at.begin(), at.end() - 1));
    all.push_back(variable(at.back()));
    return all;
  };
  next.f = [inner = f](const Tensors& all) {
    const Tensors x(all.begin(), all.end() - 1);
    GradOptions options = walk(all.back());
    options.create_graph = true;
    options.allow_unused = true;
    Tensors flat;
    for (const Tensor& dx : grad(Tensors{inner(x)}, x, options))
      flat.push_back(reshape(dx.to(all[0].dtype()), {-1}));
    return concatenate(flat);
  };
  return next;
}

Analytic analytic_gradients(const Problem& problem, const Tensor& w) {
  const EnableGrad recording;
  const Tensors x = problem.leaves(problem.values);
  const Tensor y = problem.f(x);
  Analytic result{y.detach(), {}, std::vector<bool>(x.size(), true)};
  try {
    for (const Tensor& dx : grad(Tensors{y}, x, walk(w))) result.gradients.push_back(numbers_of(dx));
  } catch (const GraphError&) {
    // Something was not reached, or a rule failed: one by one, the first is told from the second.
    result.gradients.clear();
    for (std::size_t i = 0; i < x.size(); ++i) {
      GradOptions options = walk(w);
      try {
        result.gradients.push_back(numbers_of(grad(Tensors{y}, Tensors{x[i]}, options)[0]));
      } catch (const GraphError&) {
        options.allow_unused = true;
        result.gradients.push_back(numbers_of(grad(Tensors{y}, Tensors{x[i]}, options)[0]));
        result.reached[i] = false;
      }
    }
  }
  return result;
}

std::string where_cut(const Problem& problem, std::size_t i) {
  const EnableGrad recording;
  Tensors at = problem.values;
  at[i] = tensor_of(numbers_of(at[i]), at[i]);  // memory of its own
  const Tensors x = problem.leaves(at);
  Trail trail(x[i]);
  const Tensor y = problem.f(x);
  if (!y.requires_grad())
    return "the whole output was computed outside of any graph (detach, or recording off?)";
  std::vector<const Node*> open = {node_of(y)};
  std::set<const Node*> seen = {node_of(y)};
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    for (const Tensor* in = node.inputs(); in != node.inputs() + node.input_count; ++in) {
      if (!in->defined()) continue;
      const Node* below = node_of(*in);
      if (const char* maker = below ? nullptr : trail.maker_of(array(*in)))
        return "the graph was cut between " + std::string(maker) + " and " + describe(node) +
               ", which takes its numbers as a constant (detach, or recording off?)";
      if (below && seen.insert(below).second) open.push_back(below);
    }
  }
  return "every operation on its numbers was recorded, so a rule on the way gives it no gradient";
}

}  // namespace regard::detail
