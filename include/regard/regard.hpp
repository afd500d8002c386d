#pragma once

// All of regard but for <regard/study/...> (training loop, pictures) and <regard/xtensor.hpp> (the bridge).

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/blas.hpp>
#include <regard/checkpoint.hpp>
#include <regard/dtype.hpp>
#include <regard/error.hpp>
#include <regard/gradcheck.hpp>
#include <regard/instruction_set.hpp>
#include <regard/io/safetensors.hpp>
#include <regard/loss.hpp>
#include <regard/mask.hpp>
#include <regard/named.hpp>
#include <regard/nn/attention.hpp>
#include <regard/nn/cache.hpp>
#include <regard/nn/dropout.hpp>
#include <regard/nn/embedding.hpp>
#include <regard/nn/init.hpp>
#include <regard/nn/layer_norm.hpp>
#include <regard/nn/linear.hpp>
#include <regard/nn/module.hpp>
#include <regard/nn/positions.hpp>
#include <regard/nn/probe.hpp>
#include <regard/numpy_random.hpp>
#include <regard/ops.hpp>
#include <regard/optim.hpp>
#include <regard/optim/average.hpp>
#include <regard/optim/gradients.hpp>
#include <regard/optim/methods.hpp>
#include <regard/optim/optimizer.hpp>
#include <regard/optim/schedule.hpp>
#include <regard/random.hpp>
#include <regard/shape.hpp>
#include <regard/tape.hpp>
#include <regard/tensor.hpp>
