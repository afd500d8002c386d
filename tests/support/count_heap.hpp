// Counts what a program asks from the heap: new, malloc and their kin. This header defines malloc, so one
// source of a program may include it. Under a sanitizer, which has its own, nothing is counted.
#pragma once

#include <cerrno>
#include <cstddef>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define REGARD_COUNTS_HEAP 1
#else
#define REGARD_COUNTS_HEAP 0
#endif

namespace regard::test {

/// Of this thread, so far.
inline thread_local std::size_t heap_requests = 0;

}  // namespace regard::test

#if REGARD_COUNTS_HEAP
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  ++regard::test::heap_requests;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  ++regard::test::heap_requests;
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) noexcept {
  ++regard::test::heap_requests;
  return __libc_realloc(block, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  ++regard::test::heap_requests;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  *block = memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
}
#endif
