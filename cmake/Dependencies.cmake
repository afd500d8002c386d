# Everything the build takes from the system. regard_xtensor, regard_xsimd and regard_blas are private to src/.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PNG REQUIRED)
find_package(RegardXtensor 0.24 REQUIRED)
find_package(RegardBlas REQUIRED)

add_library(regard_xtensor INTERFACE)
target_link_libraries(regard_xtensor INTERFACE regard::xtensor)
# Bounds and shape checks inside xtensor; our own checks are there in Release too.
target_compile_definitions(regard_xtensor INTERFACE $<$<CONFIG:Debug>:XTENSOR_ENABLE_ASSERT>)

add_library(regard_xsimd INTERFACE)
target_link_libraries(regard_xsimd INTERFACE regard::xsimd)

add_library(regard_blas INTERFACE)
target_link_libraries(regard_blas INTERFACE regard::blas)
