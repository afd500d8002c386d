#include "op_table/table.hpp"

#include <cctype>

namespace regard::test {
namespace {

// Another seed for every input of every sample, the same one for every dtype and layout.
Rng rng_for(const Row& row, const Sample& sample, std::size_t place) {
  const auto number = static_cast<std::uint64_t>(&sample - row.samples.data());
  return Rng(2024).split(number * 16 + place);
}

Tensor make_real(const Input& input, Rng& rng, DType dtype, Layout layout) {
  if (input.kind == Input::Kind::repeated)
    return stretched(random_tensor(input.from, rng, input.domain, float32).to(dtype), input.shape);
  const Tensor values = input.kind == Input::Kind::given
                            ? from_values(input.values, input.shape, float32)
                            : random_tensor(input.shape, rng, input.domain, float32);
  if (dtype == int64) return with_layout((values * 3.0).to(int64), layout);  // more than -1, 0 and 1
  return with_layout(values.to(dtype), layout);
}

Tensor make_input(const Input& input, Rng rng, DType dtype, Layout layout) {
  switch (input.kind) {
    case Input::Kind::ids:
      return with_layout(random_ids(input.shape, rng, input.bound), layout);
    case Input::Kind::mask:
      return with_layout(random_mask(input.shape, rng), layout);
    case Input::Kind::given_ids:
      return with_layout(from_values(input.values, input.shape, int64), layout);
    case Input::Kind::given_mask:
      return with_layout(from_values(input.values, input.shape, boolean), layout);
    default:
      return make_real(input, rng, dtype, layout);
  }
}

Rows all_rows() {
  Rows rows;
  add_elementwise_rows(rows);
  add_comparison_rows(rows);
  add_reduce_rows(rows);
  add_shape_rows(rows);
  add_softmax_rows(rows);
  add_sort_rows(rows);
  add_product_rows(rows);
  add_einsum_rows(rows);
  add_indexing_rows(rows);
  add_layer_rows(rows);
  add_loss_rows(rows);
  add_attention_rows(rows);
  add_attention_option_rows(rows);
  return rows;
}

std::string identifier(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    out += letter     ? std::string(1, c)
           : c == '+' ? "plus"
           : c == '-' ? "minus"
           : c == '*' ? "times"
           : c == '/' ? "over"
                      : "_";
  }
  return out;
}

}  // namespace

const Rows& op_table() {
  static const Rows rows = all_rows();
  return rows;
}

Case make_case(const Row& row, const Sample& sample, DType dtype, Layout layout) {
  Case made{&row, &sample, {}};
  for (std::size_t i = 0; i < sample.inputs.size(); ++i)
    if (sample.inputs[i].kind != Input::Kind::same)
      made.inputs.push_back(make_input(sample.inputs[i], rng_for(row, sample, i), dtype, layout));
  return made;
}

Tensors Case::expand(Inputs x) const {
  Tensors all;
  std::size_t next = 0;
  for (const Input& input : sample->inputs)
    all.push_back(input.kind == Input::Kind::same ? Tensor(all[input.as]) : x[next++]);
  return all;
}

Plain Case::twin() const {
  Plains plains;
  for (const Tensor& x : expand(inputs)) plains.emplace_back(x.shape(), values_of(x));
  return row->twin(plains);
}

Tensors Case::leaves() const {
  Tensors out;
  for (const Tensor& x : inputs) out.push_back(is_float(x.dtype()) ? variable(x) : x);
  return out;
}

std::string describe(const Case& c) {
  std::string text = c.row->name + ",";
  for (const Tensor& x : c.expand(c.inputs))
    text += " " + std::string(name(x.dtype())) + to_string(x.shape()) + (x.is_contiguous() ? "" : " strided");
  return text;
}

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

std::string row_name(const ::testing::TestParamInfo<Row>& info) {
  const std::string own = identifier(info.param.name);
  for (std::size_t i = 0; i < info.index; ++i)
    if (identifier(op_table()[i].name) == own) return own + "_again_" + std::to_string(info.index);
  return own;
}

Tensors value_and_gradients(const Case& c, const Tensors& in) {
  Tensors x = in, leaves;
  for (Tensor& each : x)
    if (each.dtype() == float32 || each.dtype() == float64) leaves.push_back(each = variable(each));
  const Tensor y = c(x);
  Tensors outputs = {y};
  if (!y.requires_grad()) return outputs;
  GradOptions options;
  options.seeds = {ones(y.shape(), y.dtype())};
  options.allow_unused = true;
  const Tensors gradients = grad({y}, leaves, options);
  outputs.insert(outputs.end(), gradients.begin(), gradients.end());
  return outputs;
}

}  // namespace regard::test
