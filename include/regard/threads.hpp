// How many threads the library's own kernels use.
#pragma once

#include <regard/export.hpp>

namespace REGARD_API regard {

/// How many threads a large kernel may use, the calling one included. Without this call it is what the
/// environment variable REGARD_THREADS says, else the number of processors that this process may run on.
/// Results are the same bits for any number. Work that takes less than some 50 µs stays on the calling
/// thread, and so does everything while another thread of yours has the others. Programs whose own threads
/// all compute should say 1. What the BLAS does by itself is another setting, see regard/blas.hpp. ValueError
/// below 1 or above 1024.
void set_threads(int threads);
/// The number in use. ValueError when REGARD_THREADS is no number from 1 to 1024.
[[nodiscard]] int threads();

}  // namespace regard
