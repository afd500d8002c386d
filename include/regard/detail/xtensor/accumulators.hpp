#pragma once

// xt::cumsum and cumprod.

#include <regard/detail/xtensor/version.hpp>

#if REGARD_XTENSOR_MOVED
#include <xtensor/reducers/xaccumulator.hpp>
#else
#include <xtensor/xaccumulator.hpp>
#endif
