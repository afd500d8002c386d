#include "kernels/parallel.hpp"

#include <pthread.h>
#include <signal.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <regard/error.hpp>
#include <regard/threads.hpp>

namespace regard {
namespace kernels {

std::atomic<int> halvings_of_blocks{0};

namespace {

constexpr int most_threads = 1024;
// How often a thread looks whether something has come before it sleeps: for some 150 µs.
constexpr int looks = 200;

/// Between two looks: half a microsecond, in which whoever waits for this processor has it.
void relax() {
  for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  std::this_thread::yield();
}

int processors() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::atomic<int> wanted_threads{0};     // 0: nobody has said
std::atomic<bool> pool_is_gone{false};  // at exit, and in a child process, which has no threads but one
thread_local bool in_a_block = false;

/// What is left of the blocks that a thread is to do first; then it helps others with theirs.
struct alignas(64) Share {
  std::atomic<Size> next{0};
  Size end = 0;
};

/// Threads that wait for blocks. One thread at a time may use it, and holds `in_use`.
class Pool {
 public:
  ~Pool() { stop(); }

  std::mutex in_use;

  void run(int threads, Size blocks, void (*task)(const void*, Size), const void* context) {
    if (threads != threads_) restart(threads);
    task_ = task;
    context_ = context;
    failed_ = std::numeric_limits<Size>::max();
    for (Size i = 0; i < threads_; ++i) {
      share(i).next.store(i * blocks / threads_, std::memory_order_relaxed);
      share(i).end = (i + 1) * blocks / threads_;
    }
    open();
    work(0);
    close();
    if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
  }

 private:
  // state_: the number of the job, whether it is open to the threads, and how many are at it. A thread enters
  // by a compare-and-swap from "open"; what the job is made of changes only while it is closed and nobody is
  // inside.
  static constexpr std::uint64_t inside_mask = 0xffff, open_bit = 0x10000;
  static constexpr int job_shift = 17;

  Share& share(Size i) { return shares_[static_cast<std::size_t>(i)]; }

  void open() {
    const std::uint64_t job = (state_.load() >> job_shift) + 1;
    state_.store(job << job_shift | open_bit);
    if (sleepers_.load() == 0) return;
    {
      const std::lock_guard<std::mutex> lock(sleep_);
    }  // a thread that goes to sleep has looked, or will be woken
    wake_.notify_all();
  }

  void close() {
    state_.fetch_and(~open_bit);
    while (state_.load() & inside_mask) relax();
  }

  void work(Size own) {
    in_a_block = true;
    for (Size i = 0; i < threads_; ++i) {
      Share& blocks = share((own + i) % threads_);
      while (blocks.next.load(std::memory_order_relaxed) < blocks.end) {
        const Size block = blocks.next.fetch_add(1, std::memory_order_relaxed);
        if (block >= blocks.end) break;
        // Blocks before one that failed still run, so that the first failure is known.
        if (block > failed_.load(std::memory_order_relaxed)) continue;
        try {
          task_(context_, block);
        } catch (...) {
          const std::lock_guard<std::mutex> lock(failure_);
          if (block > failed_.load()) continue;
          failed_.store(block);
          exception_ = std::current_exception();
        }
      }
    }
    in_a_block = false;
  }

  bool is_new(std::uint64_t state, std::uint64_t last) const {
    return stopping_.load() || ((state & open_bit) && state >> job_shift != last);
  }

  void serve(Size own) {
    std::uint64_t last = 0;
    while (true) {
      for (int look = 0; look < looks_ && !is_new(state_.load(), last); ++look) relax();
      std::uint64_t state = state_.load();
      if (!is_new(state, last)) {
        std::unique_lock<std::mutex> lock(sleep_);
        ++sleepers_;
        wake_.wait(lock, [&] { return is_new(state = state_.load(), last); });
        --sleepers_;
      }
      if (stopping_.load()) return;
      if (!state_.compare_exchange_strong(state, state + 1)) continue;
      last = state >> job_shift;
      work(own);
      state_.fetch_sub(1);
    }
  }

  void restart(int threads) {
    stop();
    shares_ = std::make_unique<Share[]>(static_cast<std::size_t>(threads));
    // More threads than processors only take each other's time by looking.
    looks_ = threads <= processors() ? looks : 0;
    threads_ = threads;
    // Signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (Size i = 1; i < threads; ++i) workers_.emplace_back([this, i] { serve(i); });
    } catch (const std::system_error&) {
      // Those that there are do it all.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void stop() {
    stopping_.store(true);
    { const std::lock_guard<std::mutex> lock(sleep_); }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    stopping_.store(false);
  }

  // Written before a job is opened, read inside.
  void (*task_)(const void*, Size) = nullptr;
  const void* context_ = nullptr;
  std::unique_ptr<Share[]> shares_;
  Size threads_ = 1;
  int looks_ = 0;

  alignas(64) std::atomic<std::uint64_t> state_{0};
  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::mutex sleep_;
  std::condition_variable wake_;

  std::atomic<Size> failed_{0};
  std::mutex failure_;
  std::exception_ptr exception_;

  std::vector<std::thread> workers_;
};

/// The pool, from the first large work to the program's end. In a child process its threads are missing, and
/// are not waited for.
Pool& pool() {
  struct Owner {
    Pool* pool = new Pool;
    Owner() {
      pthread_atfork(nullptr, nullptr, [] { pool_is_gone.store(true); });
    }
    ~Owner() {
      if (!pool_is_gone.exchange(true)) delete pool;
    }
  };
  static Owner owner;
  return *owner.pool;
}

}  // namespace

int choose_threads(const char* wanted) {
  if (!wanted || !*wanted) return std::min(processors(), most_threads);
  char* end = nullptr;
  const long number = std::strtol(wanted, &end, 10);
  if (*end || number < 1 || number > most_threads)
    throw ValueError("REGARD_THREADS=" + std::string(wanted) + ": expected a number from 1 to " +
                     std::to_string(most_threads));
  return static_cast<int>(number);
}

void run_blocks(Size blocks, void (*task)(const void* context, Size block), const void* context) {
  const int count = in_a_block ? 1 : threads();
  if (count > 1 && !pool_is_gone.load()) {
    Pool& shared = pool();
    if (const std::unique_lock<std::mutex> lock(shared.in_use, std::try_to_lock); lock)
      return shared.run(count, blocks, task, context);
  }
  for (Size block = 0; block < blocks; ++block) task(context, block);
}

}  // namespace kernels

void set_threads(int threads) {
  if (threads < 1 || threads > kernels::most_threads)
    throw ValueError("set_threads: expected 1 to " + std::to_string(kernels::most_threads) + ", got " +
                     std::to_string(threads));
  kernels::wanted_threads.store(threads);
}

int threads() {
  if (const int wanted = kernels::wanted_threads.load(std::memory_order_relaxed)) return wanted;
  static const int standard = kernels::choose_threads(std::getenv("REGARD_THREADS"));
  return standard;
}

}  // namespace regard
