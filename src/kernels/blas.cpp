#include "kernels/blas.hpp"

#include <cblas.h>

#include <cmath>
#include <limits>
#include <vector>

#include <regard/blas.hpp>
#include <regard/error.hpp>

namespace regard {
namespace kernels {
namespace {

CBLAS_TRANSPOSE flag(bool transpose) {
  return transpose ? CblasTrans : CblasNoTrans;
}

void call(bool ta, bool tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
          int ldb, float* c, int ldc, float beta = 0) {
  cblas_sgemm(CblasRowMajor, flag(ta), flag(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void call(bool ta, bool tb, int m, int n, int k, double alpha, const double* a, int lda, const double* b,
          int ldb, double* c, int ldc, double beta = 0) {
  cblas_dgemm(CblasRowMajor, flag(ta), flag(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

// Large enough to leave the kernels' edge cases and meet their main loops, and a multiple of no vector
// length.
constexpr int m = 37, n = 29, k = 43;

template <class T>
bool multiplies(bool ta, bool tb) {
  const int lda = (ta ? m : k) + 3, ldb = (tb ? k : n) + 1, ldc = n + 2;
  std::vector<T> a(static_cast<std::size_t>((ta ? k : m) * lda)),
      b(static_cast<std::size_t>((tb ? n : k) * ldb));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(static_cast<int>(i * 7 % 31) - 15) / 8;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(static_cast<int>(i * 5 % 29) - 14) / 8;
  // NaN in C: what is there must not be read.
  std::vector<T> c(static_cast<std::size_t>(m * ldc), std::numeric_limits<T>::quiet_NaN());
  call(ta, tb, m, n, k, T{2}, a.data(), lda, b.data(), ldb, c.data(), ldc);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      // Multiples of 1/32 below 2^10: exact in either type, in any order.
      T sum = 0;
      for (int p = 0; p < k; ++p)
        sum += a[static_cast<std::size_t>(ta ? p * lda + i : i * lda + p)] *
               b[static_cast<std::size_t>(tb ? j * ldb + p : p * ldb + j)];
      if (!(c[static_cast<std::size_t>(i * ldc + j)] == 2 * sum)) return false;
    }
  }
  return true;
}

bool test() {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      if (!multiplies<float>(ta, tb) || !multiplies<double>(ta, tb))
        throw Error("matmul: the BLAS gets a 37 x 43 times 43 x 29 product wrong (" + blas_description() +
                    "). Its kernels do not fit this processor; with OpenBLAS, set OPENBLAS_CORETYPE (for "
                    "example to "
                    "HASWELL, or to PRESCOTT for the plainest) before the program starts, or install a "
                    "newer version");
  return true;
}

void test_once() {
  static const bool tested = test();
  static_cast<void>(tested);
}

}  // namespace

void gemm(bool transpose_a, bool transpose_b, int rows, int columns, int inner, float alpha, const float* a,
          int lda, const float* b, int ldb, float* c, int ldc, float beta) {
  test_once();
  call(transpose_a, transpose_b, rows, columns, inner, alpha, a, lda, b, ldb, c, ldc, beta);
}

void gemm(bool transpose_a, bool transpose_b, int rows, int columns, int inner, double alpha, const double* a,
          int lda, const double* b, int ldb, double* c, int ldc, double beta) {
  test_once();
  call(transpose_a, transpose_b, rows, columns, inner, alpha, a, lda, b, ldb, c, ldc, beta);
}

bool stays_on_its_thread(double multiplications) {
#ifdef OPENBLAS_VERSION
  // Its interface/gemm.c shares nothing out up to 64^3.
  return openblas_get_num_threads() == 1 || multiplications <= 262144;
#else
  static_cast<void>(multiplications);
  return false;
#endif
}

std::string blas_kernels() {
#ifdef OPENBLAS_VERSION
  return openblas_get_corename();
#else
  return "";
#endif
}

}  // namespace kernels

void set_blas_threads(int threads) {
  if (threads < 1) throw ValueError("set_blas_threads: expected at least 1, got " + std::to_string(threads));
#ifdef OPENBLAS_VERSION
  openblas_set_num_threads(threads);
#endif
}

int blas_threads() {
#ifdef OPENBLAS_VERSION
  return openblas_get_num_threads();
#else
  return 1;
#endif
}

std::string blas_description() {
#ifdef OPENBLAS_VERSION
  // The configuration's text begins with name and version, and pads with blanks.
  std::string text = openblas_get_config();
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text + ", kernels for " + openblas_get_corename();
#else
  return "a BLAS with the C interface";
#endif
}

}  // namespace regard
