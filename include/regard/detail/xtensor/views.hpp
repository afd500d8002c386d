#pragma once

// xt::view and xt::strided_view, with the slices they take (xt::range, xt::all, xt::newaxis).

#include <regard/detail/xtensor/version.hpp>

#if REGARD_XTENSOR_MOVED
#include <xtensor/views/xstrided_view.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xview.hpp>
#endif
