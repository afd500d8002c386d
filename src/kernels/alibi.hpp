// Scores less a slope times the distance of query and key.
#pragma once

#include "kernels/call.hpp"

namespace regard::kernels {

/// (x, slopes, positions): y = x - slope·|position - j| for key j along the last axis. Everything stretched
/// to the output's shape; positions are int64.
extern const KernelSet alibi;

}  // namespace regard::kernels
