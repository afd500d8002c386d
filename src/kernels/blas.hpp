// The C interface of BLAS, for two types. The only place that includes cblas.h.
#pragma once

#include <string>

namespace regard::kernels {

/// C = alpha·op(A)·op(B) + beta·C, row-major, op(A) m x k, op(B) k x n. With beta 0 the numbers that C held are
/// not read.
/// Before the first product the library multiplies a few matrices to see that it gets them right; Error if
/// not.
void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float* a, int lda,
          const float* b, int ldb, float* c, int ldc, float beta = 0);
void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, double alpha, const double* a, int lda,
          const double* b, int ldb, double* c, int ldc, double beta = 0);

/// Is a product of so many multiplications computed on the thread that calls? Only then may several threads call: those
/// of the BLAS serve one caller at a time. False where the BLAS does not tell.
bool stays_on_its_thread(double multiplications);

/// The processor whose kernels the BLAS chose, in its own words; "" where it does not tell.
std::string blas_kernels();

}  // namespace regard::kernels
