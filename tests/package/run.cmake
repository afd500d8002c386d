# Configures, builds and runs the project in this folder against an install of BINARY (WAY=installed) or with regard's
# source taken in (WAY=subdirectory; unless FULL, one file is compiled there rather than the whole library again).
set(work ${BINARY}/package-test/${WAY})
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(configure ${CMAKE_COMMAND} -S ${SOURCE}/tests/package -B ${work}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=${CONFIG}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DXTENSOR_ROOT=${XTENSOR_ROOT})

if(WAY STREQUAL installed)
  run(${CMAKE_COMMAND} --install ${BINARY} --prefix ${work}/prefix --config ${CONFIG})
  run(${configure} -DCMAKE_PREFIX_PATH=${work}/prefix)
  run(${CMAKE_COMMAND} --build ${work}/build --config ${CONFIG})
  run(${CMAKE_CTEST_COMMAND} --test-dir ${work}/build -C ${CONFIG} --output-on-failure --no-tests=error)
  file(GLOB_RECURSE packages ${work}/prefix/*.cmake)
  foreach(file IN LISTS packages)
    file(STRINGS ${file} leaks REGEX "${SOURCE}|${BINARY}")
    if(leaks)
      message(FATAL_ERROR "${file} names the folder it was built in: ${leaks}")
    endif()
  endforeach()
else()
  run(${configure} -DREGARD_SOURCE=${SOURCE} -DBUILD_SHARED_LIBS=${SHARED})
  if(FULL)
    run(${CMAKE_COMMAND} --build ${work}/build --config ${CONFIG})
    run(${CMAKE_CTEST_COMMAND} --test-dir ${work}/build -C ${CONFIG} --output-on-failure --no-tests=error)
  else()
    run(${CMAKE_COMMAND} --build ${work}/build --config ${CONFIG} --target model)
  endif()
endif()
