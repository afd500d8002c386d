// The names that the examples in the headers' comments take for granted. They are compiled, not linked or run.
#pragma once

#include <iostream>
#include <string>
#include <vector>

#include <regard/regard.hpp>

namespace example {

using namespace regard;

extern nn::Linear model;
extern nn::MultiHeadAttention layer;
extern Adam optimizer;
extern AdamOptions options;
extern Rng rng;
extern Size step, steps;

extern const Tensor x, ids, targets, scores, weight;
extern const Tensor q, k, v, query, key, value, lengths, prompt;
extern const std::vector<Tensors> batches;
Tensors batch(Size step);

double rate(Size step);
double train_step();
Tensor loss();
Tensor loss(const Tensor& output);
Tensor next(const Tensor& output);

}  // namespace example
