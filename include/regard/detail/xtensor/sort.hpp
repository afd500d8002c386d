#pragma once

// xt::sort, argsort and unique.

#include <regard/detail/xtensor/version.hpp>

#if REGARD_XTENSOR_MOVED
#include <xtensor/misc/xsort.hpp>
#else
#include <xtensor/xsort.hpp>
#endif
