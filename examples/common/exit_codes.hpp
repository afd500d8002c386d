#pragma once
// What a program's end says.

namespace common {

inline constexpr int failure_exit = 1;
inline constexpr int usage_exit = 2;
inline constexpr int interrupted_exit = 130;  // 128 + SIGINT, as shells have it

}  // namespace common
