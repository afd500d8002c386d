#pragma once

// xt::arange, eye, concatenate, stack, tril and triu: arrays made from a rule or from other arrays.

#include <regard/detail/xtensor/version.hpp>

#if REGARD_XTENSOR_MOVED
#include <xtensor/generators/xbuilder.hpp>
#else
#include <xtensor/xbuilder.hpp>
#endif
