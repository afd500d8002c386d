// Our small matrix products beside bare calls of BLAS, on every instruction set: which sizes to keep for
// ourselves. Both are timed in turns, and the ratio of the fastest rounds is printed: below 1 where ours is
// faster.
//   benchmark_products [SET]
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <regard/blas.hpp>

#include "kernels/instruction_set.hpp"

namespace {

using namespace regard;           // NOLINT
using namespace regard::kernels;  // NOLINT
using Clock = std::chrono::steady_clock;

void blas(bool ta, bool tb, int m, int n, int k, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1.0F, a,
              ta ? m : k, b, tb ? k : n, 0.0F, c, n);
}
void blas(bool ta, bool tb, int m, int n, int k, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1.0, a,
              ta ? m : k, b, tb ? k : n, 0.0, c, n);
}

/// Nanoseconds per call.
template <class F>
double time_of(int calls, F f) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < calls; ++i) f();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
}

template <class T>
double ratio(const Rows<T>& rows, bool ta, bool tb, int m, int n, int k) {
  std::vector<T> a(static_cast<std::size_t>(m * k), T(0.5)), b(static_cast<std::size_t>(k * n), T(0.25)),
      c(static_cast<std::size_t>(m * n));
  const SmallProduct<T> at{m,          n,        k,          1,          a.data(), ta ? 1 : k,
                           ta ? m : 1, b.data(), tb ? 1 : n, tb ? k : 1, c.data()};
  const auto own = [&] { rows.small_product(at); };
  const auto theirs = [&] { blas(ta, tb, m, n, k, a.data(), b.data(), c.data()); };
  const int calls = 20 + 400000 / (m * n * k + 200);
  double fastest_own = 1e30, fastest_theirs = 1e30;
  for (int round = 0; round < 15; ++round) {
    fastest_own = std::min(fastest_own, time_of(calls, own));
    fastest_theirs = std::min(fastest_theirs, time_of(calls, theirs));
  }
  return fastest_own / fastest_theirs;
}

struct Shape3 {
  int m, n, k;
};
const Shape3 shapes[] = {{2, 2, 2},    {4, 4, 4},       {5, 5, 8},      {8, 8, 8},      {12, 12, 8},
                         {1, 32, 32},  {32, 1, 32},     {10, 8, 8},     {12, 12, 12},   {16, 16, 16},
                         {12, 32, 12}, {12, 12, 32},    {20, 20, 20},   {24, 24, 24},   {32, 32, 16},
                         {32, 32, 32}, {17, 17, 17},    {33, 33, 33},   {17, 33, 29},   {64, 32, 32},
                         {48, 48, 48}, {64, 64, 64},    {768, 32, 32},  {32, 32, 768},  {640, 16, 16},
                         {640, 8, 16}, {640, 16, 8},    {16, 8, 640},   {12, 8, 12},    {12, 16, 12},
                         {96, 96, 96}, {128, 128, 128}, {128, 128, 32}, {128, 32, 128}, {256, 256, 256}};

template <class T>
void print(const char* set, const char* type, const Rows<T>& rows) {
  for (const Shape3& s : shapes) {
    std::printf("%-8s %s %7d %3d x %2d x %2d ", set, type, s.m * s.n * s.k, s.m, s.n, s.k);
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        if (!tb || s.k * s.n <= small_product_room)
          std::printf("  %c%c %.2f", ta ? 'T' : 'N', tb ? 'T' : 'N', ratio(rows, ta, tb, s.m, s.n, s.k));
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** arguments) {
  set_blas_threads(1);
  std::printf("%s\nm·n·k, m x n x k, time of ours over that of BLAS for each pair of transpositions\n",
              blas_description().c_str());
  for (const kernels::InstructionSet& set : instruction_sets_here()) {
    if (count > 1 && std::string(arguments[1]) != set.name) continue;
    const Table table = set.make_table();
    print(set.name, "float32", table.f32);
    print(set.name, "float64", table.f64);
  }
}
