# find_package(regard) for other projects: the libraries, the headers, and the CMake files that tell where they are.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/regard)

install(TARGETS regard regard_study EXPORT regardTargets)
install(DIRECTORY include/regard DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT regardTargets NAMESPACE regard:: DESTINATION ${package_dir})

configure_package_config_file(cmake/regardConfig.cmake.in regardConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(regardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/regardConfig.cmake ${PROJECT_BINARY_DIR}/regardConfigVersion.cmake
              cmake/FindRegardBlas.cmake cmake/FindRegardXtensor.cmake DESTINATION ${package_dir})
install(FILES LICENSE NOTICE.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/regard)
