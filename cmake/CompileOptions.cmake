# One set of options for all of our own code. Never -ffast-math: masked rows rely on infinities.
option(REGARD_WERROR "treat warnings in regard's own code as errors" ${PROJECT_IS_TOP_LEVEL})

set(CMAKE_CXX_STANDARD ${RegardXtensor_CXX_STANDARD})
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

add_library(regard_options INTERFACE)
target_compile_options(regard_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                $<$<BOOL:${REGARD_WERROR}>:-Werror>
                                                -fno-math-errno -ffp-contract=off)
target_link_libraries(regard_options INTERFACE Threads::Threads)
