# One set of options for all of our own code. Never -ffast-math: masked rows rely on infinities.
add_library(regard_options INTERFACE)
target_compile_features(regard_options INTERFACE cxx_std_17)
target_compile_options(regard_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
                                                -fno-math-errno -ffp-contract=off)
target_link_libraries(regard_options INTERFACE Threads::Threads)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
