#pragma once

// All of regard but for <regard/study/...> (training loop, pictures) and <regard/xtensor.hpp> (the bridge).

#include <regard/autograd.hpp>
#include <regard/blas.hpp>
#include <regard/dtype.hpp>
#include <regard/error.hpp>
#include <regard/loss.hpp>
#include <regard/mask.hpp>
#include <regard/ops.hpp>
#include <regard/random.hpp>
#include <regard/shape.hpp>
#include <regard/tensor.hpp>
