#pragma once

// xt::flip, roll, rot90, repeat, split and squeeze: rearranging what is there.

#include <regard/detail/xtensor/version.hpp>

#if REGARD_XTENSOR_MOVED
#include <xtensor/misc/xmanipulation.hpp>
#else
#include <xtensor/xmanipulation.hpp>
#endif
