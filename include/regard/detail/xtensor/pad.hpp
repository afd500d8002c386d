#pragma once

// xt::pad.

#include <regard/detail/xtensor/version.hpp>

#if REGARD_XTENSOR_MOVED
#include <xtensor/misc/xpad.hpp>
#else
#include <xtensor/xpad.hpp>
#endif
