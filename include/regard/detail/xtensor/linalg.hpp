#pragma once

// xt::linalg: singular values, eigenvalues, least squares. Not dot and tensordot, which read wrong memory for
// some views; matrix products are regard::matmul.

#include <regard/detail/xtensor/array.hpp>

#include <xtensor-blas/xlinalg.hpp>
