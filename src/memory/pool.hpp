// Buffers that are used again: a pool per thread, keyed by size. After a few steps of a training loop nothing is
// asked from the heap any more. Blocks may be freed on another thread than the one that asked for them.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace regard::detail {

/// Alignment of every block: a cache line, and the widest vector register.
inline constexpr std::size_t block_alignment = 64;

/// Throws std::bad_alloc. The bytes are not initialised.
void* allocate(std::size_t bytes);
/// How large the block is that comes for so many bytes.
std::size_t block_bytes(std::size_t bytes);
/// `bytes` as it was asked for.
void deallocate(void* block, std::size_t bytes) noexcept;

/// For containers whose numbers come and go with each step.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}  // NOLINT: as the standard asks
  T* allocate(std::size_t count) { return static_cast<T*>(detail::allocate(count * sizeof(T))); }
  void deallocate(T* block, std::size_t count) noexcept { detail::deallocate(block, count * sizeof(T)); }
  template <class U>
  friend bool operator==(const PoolAllocator&, const PoolAllocator<U>&) {
    return true;
  }
  template <class U>
  friend bool operator!=(const PoolAllocator&, const PoolAllocator<U>&) {
    return false;
  }
};
template <class T>
using PoolVector = std::vector<T, PoolAllocator<T>>;

/// A fixed number of objects; none take no block.
template <class T>
class PoolArray {
 public:
  PoolArray() = default;
  explicit PoolArray(std::size_t count) : PoolArray(count, Unset()) {
    if (data_) std::uninitialized_value_construct_n(data_, count);
  }
  /// Numbers that are yet to be written.
  static PoolArray unset(std::size_t count) {
    static_assert(std::is_trivial_v<T>);
    return PoolArray(count, Unset());
  }
  PoolArray(PoolArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  PoolArray& operator=(PoolArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~PoolArray() {
    if (!data_) return;
    std::destroy_n(data_, count_);
    PoolAllocator<T>().deallocate(data_, count_);
  }
  T* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  struct Unset {};
  PoolArray(std::size_t count, Unset)
      : data_(count == 0 ? nullptr : PoolAllocator<T>().allocate(count)), count_(count) {}

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// What this thread's pool has done so far; tests and benchmarks read it.
struct PoolCounts {
  std::size_t heap_allocations = 0;  ///< blocks the pool had to ask from the heap
  std::size_t cached_bytes = 0;      ///< bytes that wait to be used again
};
PoolCounts pool_counts();

}  // namespace regard::detail
