# Everything the build takes from the system. regard_xtensor and regard_blas are private to src/.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PNG REQUIRED)
find_package(xtensor REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(openblas REQUIRED IMPORTED_TARGET openblas)

add_library(regard_blas INTERFACE)
target_link_libraries(regard_blas INTERFACE PkgConfig::openblas)
add_library(regard_xtensor INTERFACE)
target_link_libraries(regard_xtensor INTERFACE xtensor)
