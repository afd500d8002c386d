#pragma once

// xt::exp, tanh and the rest of the elementwise functions. Its reducers (sum, mean, amax, ...) come along but
// must not be called: they read out of bounds inside larger expressions (see docs/design.md).

#include <regard/detail/xtensor/version.hpp>

#if REGARD_XTENSOR_MOVED
#include <xtensor/core/xmath.hpp>
#else
#include <xtensor/xmath.hpp>
#endif
