# Finds the header-only libraries xtensor (0.24 or newer), xtl, xtensor-blas and xsimd, and makes the targets
#   regard::xtensor   xtensor, xtl and xtensor-blas
#   regard::xsimd     xsimd
# XTENSOR_ROOT, a CMake or environment variable, names one or more prefixes (separated by ;) to be looked at before
# the system's: its include/ holds the headers, wherever that xtensor keeps them. The headers are looked for
# rather than their CMake packages: the packages of different years do not agree on what else they demand.
set(XTENSOR_ROOT "$ENV{XTENSOR_ROOT}" CACHE STRING "prefixes of another xtensor, looked at before the system's")

if(NOT TARGET regard::xtensor)
  # Looks again when XTENSOR_ROOT has changed since the last configure.
  if(NOT "${XTENSOR_ROOT}" STREQUAL "${RegardXtensor_LAST_ROOT}")
    foreach(name IN ITEMS XTENSOR XTL XTENSOR_BLAS XSIMD)
      unset(RegardXtensor_${name}_DIR CACHE)
    endforeach()
    set(RegardXtensor_LAST_ROOT "${XTENSOR_ROOT}" CACHE INTERNAL "")
  endif()
  find_path(RegardXtensor_XTENSOR_DIR NAMES xtensor/containers/xarray.hpp xtensor/xarray.hpp
            HINTS ${XTENSOR_ROOT} PATH_SUFFIXES include)
  find_path(RegardXtensor_XTL_DIR xtl/xtl_config.hpp HINTS ${XTENSOR_ROOT} PATH_SUFFIXES include)
  find_path(RegardXtensor_XTENSOR_BLAS_DIR xtensor-blas/xlinalg.hpp HINTS ${XTENSOR_ROOT} PATH_SUFFIXES include)
  find_path(RegardXtensor_XSIMD_DIR xsimd/xsimd.hpp HINTS ${XTENSOR_ROOT} PATH_SUFFIXES include)

  foreach(config IN ITEMS xtensor/core/xtensor_config.hpp xtensor/xtensor_config.hpp)
    if(EXISTS ${RegardXtensor_XTENSOR_DIR}/${config})
      file(STRINGS ${RegardXtensor_XTENSOR_DIR}/${config} lines REGEX "#define XTENSOR_VERSION_(MAJOR|MINOR|PATCH)")
      string(REGEX REPLACE "[^0-9;]" "" lines "${lines}")
      string(REPLACE ";" "." RegardXtensor_VERSION "${lines}")
      break()
    endif()
  endforeach()
endif()

include(FindPackageHandleStandardArgs)
if(TARGET regard::xtensor)
  set(RegardXtensor_FOUND TRUE)
else()
  find_package_handle_standard_args(RegardXtensor
    REQUIRED_VARS RegardXtensor_XTENSOR_DIR RegardXtensor_XTL_DIR RegardXtensor_XTENSOR_BLAS_DIR RegardXtensor_XSIMD_DIR
    VERSION_VAR RegardXtensor_VERSION
    REASON_FAILURE_MESSAGE "The headers of xtensor (0.24 or newer), xtl, xtensor-blas and xsimd are needed: \
apt-get install libxtensor-dev libxtensor-blas-dev libxsimd-dev (Debian, Ubuntu), brew install xtensor xtensor-blas xsimd \
(macOS), or name their prefix in XTENSOR_ROOT. scripts/install-dependencies installs everything.")
endif()

if(RegardXtensor_FOUND AND NOT TARGET regard::xtensor)
  add_library(regard::xtensor INTERFACE IMPORTED GLOBAL)
  target_include_directories(regard::xtensor INTERFACE
    ${RegardXtensor_XTENSOR_DIR} ${RegardXtensor_XTL_DIR} ${RegardXtensor_XTENSOR_BLAS_DIR})
  # 0.27 demands C++20; before it, C++17 is the one to use: 0.24's immediate reducers are wrong in C++20.
  if(RegardXtensor_VERSION VERSION_GREATER_EQUAL 0.27)
    set(RegardXtensor_CXX_STANDARD 20)
  else()
    set(RegardXtensor_CXX_STANDARD 17)
  endif()
  target_compile_features(regard::xtensor INTERFACE cxx_std_${RegardXtensor_CXX_STANDARD})
  add_library(regard::xsimd INTERFACE IMPORTED GLOBAL)
  target_include_directories(regard::xsimd INTERFACE ${RegardXtensor_XSIMD_DIR})
  # Of whoever called find_package, also when a second call finds the targets made.
  set_property(TARGET regard::xtensor PROPERTY INTERFACE_REGARD_CXX_STANDARD ${RegardXtensor_CXX_STANDARD})
endif()
if(TARGET regard::xtensor)
  get_target_property(RegardXtensor_CXX_STANDARD regard::xtensor INTERFACE_REGARD_CXX_STANDARD)
endif()
mark_as_advanced(RegardXtensor_XTENSOR_DIR RegardXtensor_XTL_DIR RegardXtensor_XTENSOR_BLAS_DIR RegardXtensor_XSIMD_DIR)
