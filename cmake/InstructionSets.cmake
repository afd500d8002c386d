# The loops in src/kernels/vector are compiled once per instruction set; the program picks one when it starts to compute.
# regard_add_instruction_sets(target) adds them all. Never -march=native: what is built runs on any machine of its kind.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(instruction_sets neon)  # which every such processor has
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(instruction_sets baseline avx2 avx512)
else()
  set(instruction_sets baseline)
endif()
set(avx2_options -mavx2 -mfma)
set(avx512_options ${avx2_options} -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC's own header for AVX-512 uses variables that it leaves unset on purpose.
  list(APPEND avx512_options -Wno-uninitialized -Wno-maybe-uninitialized)
endif()

function(regard_add_instruction_sets target)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/vector/*.cpp)
  foreach(set IN LISTS instruction_sets)
    add_library(regard_${set} OBJECT ${sources})
    target_compile_definitions(regard_${set} PRIVATE REGARD_VARIANT=${set} $<$<BOOL:${BUILD_SHARED_LIBS}>:REGARD_SHARED>)
    # Optimised in Debug, too: what is not inlined would be a function that a linker may take for another set's.
    # Without sanitizers, under which so much inlined code takes minutes a file; tests/kernels looks behind every row's end.
    target_compile_options(regard_${set} PRIVATE ${${set}_options} $<IF:$<CONFIG:Debug>,-O2,-O3> -fno-sanitize=all)
    target_include_directories(regard_${set} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(regard_${set} PRIVATE regard_options regard_xsimd)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:regard_${set}>)
  endforeach()
endfunction()
