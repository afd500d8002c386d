// The matrix library underneath: what it is, and how many threads it may use.
#pragma once

#include <string>

#include <regard/export.hpp>

namespace REGARD_API regard {

/// How many threads the BLAS may use for one matrix product, of those that are left to it. regard never changes this by
/// itself: call it once, when the program starts; 1 is best for small models and whenever several threads of your own
/// compute. A BLAS other than OpenBLAS keeps its own setting. With one number of threads the same program gives the same
/// bits; another number may add up in another order, and change the last digits. ValueError below 1.
void set_blas_threads(int threads);
/// The number of threads in use; 1 where the BLAS does not tell.
[[nodiscard]] int blas_threads();
/// One line: library, version, options and the processor kernels it chose. For --version and bug reports.
[[nodiscard]] std::string blas_description();

}  // namespace regard
