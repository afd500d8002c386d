#pragma once

// xtensor moved its headers into subfolders in 0.26. The headers in this folder know both places, so that
// nothing else includes xtensor directly: take the one that names what you need.

#if __has_include(<xtensor/containers/xarray.hpp>)
#define REGARD_XTENSOR_MOVED 1
#include <xtensor/core/xtensor_config.hpp>
#elif __has_include(<xtensor/xarray.hpp>)
#define REGARD_XTENSOR_MOVED 0
#include <xtensor/xtensor_config.hpp>
#else
#error "xtensor is not on the include path: link regard::xtensor, or see scripts/install-dependencies"
#endif

#if XTENSOR_VERSION_MAJOR == 0 && XTENSOR_VERSION_MINOR < 24
#error "regard needs xtensor 0.24 or newer"
#endif

// 0.24's immediate reducers are wrong when compiled as C++20, and 0.27 needs C++20.
#if XTENSOR_VERSION_MAJOR == 0 && XTENSOR_VERSION_MINOR >= 27 && __cplusplus < 202002L
#error "xtensor 0.27 and newer must be compiled as C++20"
#endif
