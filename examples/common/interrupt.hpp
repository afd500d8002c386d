#pragma once
// Ctrl-C as a request: a run stops after its step and writes what there is.

#include <atomic>

namespace common {

/// From now on SIGINT sets the flag. A second one ends the process at once with interrupted_exit.
void stop_on_interrupt();

/// The flag. Runs look at it; a program may set it as well.
std::atomic<bool>& stop_requested();

}  // namespace common
