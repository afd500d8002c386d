#include "common/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <regard/threads.hpp>

#include "common/profile.hpp"

namespace common {
namespace {

/// While it lives, and several jobs run at once, kernels share nothing out: the cores are taken.
class OneThreadEach {
 public:
  explicit OneThreadEach(std::size_t jobs) : before_(regard::threads()) {
    if (jobs > 1) regard::set_threads(1);
  }
  ~OneThreadEach() { regard::set_threads(before_); }
  OneThreadEach(const OneThreadEach&) = delete;
  OneThreadEach& operator=(const OneThreadEach&) = delete;

 private:
  int before_;
};

}  // namespace

void run_in_parallel(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& job,
                     const std::function<void()>& meanwhile, const std::function<void()>& on_error) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::condition_variable job_ended;
  std::size_t ended = 0;
  const ProfilePause pause;
  const auto work = [&] {
    const Profiled profiled(pause.profile());
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        job(i);
      } catch (...) {
        errors[i] = std::current_exception();
        on_error();
      }
      const std::lock_guard<std::mutex> lock(mutex);
      ++ended;
      job_ended.notify_one();
    }
  };

  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t at_once = std::min(threads > 0 ? threads : cores, count);
  const OneThreadEach one_thread_each(at_once);
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < at_once; ++i) workers.emplace_back(work);
  std::unique_lock<std::mutex> lock(mutex);
  while (!job_ended.wait_for(lock, std::chrono::milliseconds(50), [&] { return ended == count; })) {
    lock.unlock();
    meanwhile();
    lock.lock();
  }
  lock.unlock();
  for (std::thread& worker : workers) worker.join();
  meanwhile();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace common
