// Optimisers, learning rates, and what is done to gradients and parameters between steps.
//
// ```cpp
// Adam optimizer(parameters(model), options);
// for (Size step = 0; step < steps; ++step) {
//   optimizer.zero_grad();
//   backward(loss());
//   clip_gradients_by_norm(optimizer.parameters(), 1.0);
//   optimizer.set_learning_rate(rate(step));
//   optimizer.step();
// }
// ```
//
// The updates are PyTorch's, to the last digit that float64 arithmetic lets one promise.
#pragma once

#include <regard/optim/average.hpp>
#include <regard/optim/gradients.hpp>
#include <regard/optim/methods.hpp>
#include <regard/optim/optimizer.hpp>
#include <regard/optim/schedule.hpp>
