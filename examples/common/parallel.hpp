#pragma once
// Several runs at the same time.

#include <cstddef>
#include <functional>

namespace common {

/// Calls job(0) .. job(count - 1), at most `threads` at once (0: one per core), each in a thread that is not
/// the caller's, and returns when all have ended. Meanwhile the caller's thread calls `meanwhile` some twenty
/// times a second, and a last time at the end. A job's exception is rethrown (that of the lowest number),
/// after the others have ended; `on_error` is called as soon as one has thrown, so that it can ask the others
/// to stop. While several run at once, the library's kernels use one thread each. Tensors must not cross
/// threads: a job makes its own and leaves plain numbers.
void run_in_parallel(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& job,
                     const std::function<void()>& meanwhile, const std::function<void()>& on_error);

}  // namespace common
