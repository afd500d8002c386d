#include "memory/slab.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace regard::detail {
namespace {

// Each slab of a thread is twice as large as the one before: a small program takes little, a large one few.
constexpr std::size_t smallest = std::size_t{1} << 18, largest = std::size_t{1} << 25;
constexpr std::size_t small_page = std::size_t{1} << 12, large_page = std::size_t{1} << 21;
constexpr std::size_t worth_keeping = std::size_t{1} << 10;  ///< no block is larger

struct Slab {
  char* next;
  std::size_t left;
  std::size_t size;  ///< of the latest
};
__thread Slab slab;

/// What ended threads left, each with the next.
struct Rest {
  Rest* next;
  std::size_t bytes;
};
std::mutex mutex;
Rest* rests = nullptr;

bool take_rest() noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!rests) return false;
  slab.next = reinterpret_cast<char*>(rests);
  slab.left = rests->bytes;
  rests = rests->next;
  return true;
}

}  // namespace

void* carve(std::size_t bytes) noexcept {
  if (slab.left < bytes) return nullptr;
  slab.left -= bytes;
  return std::exchange(slab.next, slab.next + bytes);
}

std::size_t new_slab() {
  if (take_rest()) return 0;
  const std::size_t bytes = std::clamp(2 * slab.size, smallest, largest);
  void* memory = nullptr;
  if (posix_memalign(&memory, bytes < large_page ? small_page : large_page, bytes) != 0)
    throw std::bad_alloc();
#if defined(__linux__)
  if (bytes >= large_page) madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: without it all works as well
#endif
  slab = {static_cast<char*>(memory), bytes, bytes};
  return 1;
}

void give_back_slab() noexcept {
  if (slab.left >= worth_keeping) {
    const std::lock_guard<std::mutex> lock(mutex);
    rests = new (slab.next) Rest{rests, slab.left};
  }
  slab = {};
}

}  // namespace regard::detail
