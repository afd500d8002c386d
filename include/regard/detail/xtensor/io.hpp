#pragma once

// operator<< and print options.

#include <regard/detail/xtensor/version.hpp>

#if REGARD_XTENSOR_MOVED
#include <xtensor/io/xio.hpp>
#else
#include <xtensor/xio.hpp>
#endif
