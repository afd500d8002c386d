# For other projects: the libraries, the headers, and what tells CMake (find_package) and pkg-config where they are. None
# of it names the prefix, so that an install can be moved, or staged with DESTDIR.
# Components: regard_runtime, what a program linked to shared libraries needs; regard_development, the rest.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/regard)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME regard_development)

# Two sets of targets: who wants regard::regard alone need not have what regard::study is linked to.
foreach(library IN ITEMS regard regard_study)
  string(REPLACE "_study" "Study" export ${library})
  install(TARGETS ${library} EXPORT ${export}Targets
    RUNTIME COMPONENT regard_runtime LIBRARY COMPONENT regard_runtime NAMELINK_COMPONENT regard_development)
  install(EXPORT ${export}Targets NAMESPACE regard:: DESTINATION ${package_dir})
endforeach()
# A program linked to the study library need not name the core, which is found beside it.
set_target_properties(regard_study PROPERTIES INSTALL_RPATH $<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>)
install(DIRECTORY include/regard DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

configure_package_config_file(cmake/regardConfig.cmake.in regardConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(regardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/regardConfig.cmake ${PROJECT_BINARY_DIR}/regardConfigVersion.cmake
              cmake/FindRegardBlas.cmake cmake/FindRegardXtensor.cmake DESTINATION ${package_dir})

# pkg-config: a static library leaves what it needs to the program, with --static or without; a shared one has linked it.
# OpenBLAS is named as it was found: its own .pc file asks for the compiler of Fortran with --static.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(BUILD_SHARED_LIBS)
  set(pc_cflags " -DREGARD_SHARED")
else()
  set(pc_requires fmt)
  set(pc_study_requires ", libpng")
  set(pc_libs ${REGARD_OPENBLAS_LDFLAGS})
  if(NOT REGARD_OPENBLAS_FOUND)
    get_target_property(pc_libs regard::blas INTERFACE_LINK_LIBRARIES)
  endif()
  list(JOIN pc_libs " " pc_libs)
  string(PREPEND pc_libs " -pthread ")
endif()
# From the folder of the .pc files; an absolute one (CMAKE_INSTALL_LIBDIR may be) cannot be moved.
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${pc_dir})
  file(RELATIVE_PATH pc_prefix /${pc_dir} /)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
foreach(folder IN ITEMS LIBDIR INCLUDEDIR)
  set(pc_${folder} ${CMAKE_INSTALL_${folder}})
  if(NOT IS_ABSOLUTE ${pc_${folder}})
    string(PREPEND pc_${folder} "\${prefix}/")
  endif()
endforeach()
foreach(file IN ITEMS regard.pc regard-study.pc)
  configure_file(cmake/${file}.in ${file} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${file} DESTINATION ${pc_dir})
endforeach()

foreach(component IN ITEMS regard_runtime regard_development)
  install(FILES LICENSE NOTICE.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/regard COMPONENT ${component})
endforeach()
