#include "common/interrupt.hpp"

#include <csignal>
#include <cstdlib>

#include "common/exit_codes.hpp"

namespace common {
namespace {

std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may store to it");

extern "C" void on_interrupt(int) {
  if (requested.exchange(true)) std::_Exit(interrupted_exit);
}

}  // namespace

void stop_on_interrupt() {
  std::signal(SIGINT, on_interrupt);
}

std::atomic<bool>& stop_requested() {
  return requested;
}

}  // namespace common
