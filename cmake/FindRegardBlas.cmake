# Finds OpenBLAS with its C interface (cblas.h) and makes the target regard::blas. Used by the build, and by an
# installed static regard, which leaves its matrix products to be linked by the program.
if(NOT TARGET regard::blas)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(REGARD_OPENBLAS QUIET IMPORTED_TARGET GLOBAL openblas)
  endif()
  if(REGARD_OPENBLAS_FOUND)
    set(RegardBlas_LIBRARY PkgConfig::REGARD_OPENBLAS)
    set(RegardBlas_VERSION ${REGARD_OPENBLAS_VERSION})
    find_path(RegardBlas_INCLUDE_DIR cblas.h HINTS ${REGARD_OPENBLAS_INCLUDE_DIRS} PATH_SUFFIXES openblas)
  else()
    # Homebrew keeps OpenBLAS out of the default search path, since macOS has a BLAS of its own.
    set(prefixes /opt/homebrew/opt/openblas /usr/local/opt/openblas)
    find_path(RegardBlas_INCLUDE_DIR cblas.h HINTS ${prefixes} PATH_SUFFIXES openblas openblas-pthread include)
    find_library(RegardBlas_LIBRARY openblas HINTS ${prefixes} PATH_SUFFIXES openblas-pthread lib)
  endif()
endif()

include(FindPackageHandleStandardArgs)
if(TARGET regard::blas)
  set(RegardBlas_FOUND TRUE)
else()
  find_package_handle_standard_args(RegardBlas
    REQUIRED_VARS RegardBlas_LIBRARY RegardBlas_INCLUDE_DIR
    VERSION_VAR RegardBlas_VERSION
    REASON_FAILURE_MESSAGE "OpenBLAS with cblas.h is needed: apt-get install libopenblas-dev (Debian, Ubuntu), \
brew install openblas (macOS), or name its prefix in CMAKE_PREFIX_PATH. scripts/install-dependencies installs everything.")
endif()

if(RegardBlas_FOUND AND NOT TARGET regard::blas)
  add_library(regard::blas INTERFACE IMPORTED GLOBAL)
  target_link_libraries(regard::blas INTERFACE ${RegardBlas_LIBRARY})
  target_include_directories(regard::blas INTERFACE ${RegardBlas_INCLUDE_DIR})
endif()
mark_as_advanced(RegardBlas_LIBRARY RegardBlas_INCLUDE_DIR)
