# qv_room(NAME PUBLIC … PRIVATE … WITHOUT …): a static library of every .cc below the room's folder, without those in
# folders that are libraries of their own. A room links only what ARCHITECTURE.md allows, so the use of a forbidden
# symbol does not link.
function(qv_room name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE;WITHOUT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(folder ${ARG_WITHOUT})
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  add_library(qv_${name} STATIC ${sources})
  target_link_libraries(qv_${name} PUBLIC qv_options ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  qv_use_precompiled(qv_${name} qv_headers)
endfunction()

# qv_precompiled(OWNER HEADER LINKS … OPTIONS …): precompiles a header for targets with the same options. (GCC takes
# optimisation options from the precompiled header, whatever the command line says.) Files must still name all that
# they include: presets without QV_FAST_BUILD check it.
function(qv_precompiled owner header)
  cmake_parse_arguments(ARG "" "" "LINKS;OPTIONS" ${ARGN})
  if(QV_FAST_BUILD)
    add_library(${owner} OBJECT ${CMAKE_SOURCE_DIR}/cmake/headers.cc)
    target_link_libraries(${owner} PRIVATE qv_options ${ARG_LINKS})
    target_compile_options(${owner} PRIVATE ${ARG_OPTIONS})
    target_precompile_headers(${owner} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${header})
  endif()
endfunction()

function(qv_use_precompiled target owner)
  if(TARGET ${owner})
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# Time limit in seconds for a test that needs at most `idle` seconds on an idle machine. Reads QUIVER_TEST_PATIENCE when
# CMake configures, as tests/patience.h, tests/patience.py and scripts/steps.sh do.
function(qv_patience idle out)
  set(factor 5)
  if(DEFINED ENV{QUIVER_TEST_PATIENCE})
    set(factor $ENV{QUIVER_TEST_PATIENCE})
  endif()
  math(EXPR seconds "${idle} * ${factor}")
  set(${out} ${seconds} PARENT_SCOPE)
endfunction()

# Builds all tests, but no benchmarks.
add_custom_target(qv_tests)

# qv_test(NAME SOURCES … LINKS …): one GoogleTest program, registered with ctest as a whole. FIRST: it takes minutes, so
# ctest begins with it.
function(qv_test name)
  cmake_parse_arguments(ARG "FIRST" "TIMEOUT" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE qv_options ${ARG_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  # Rooms are optimised as usual; tests themselves need not be fast.
  target_compile_options(${name} PRIVATE ${QV_TEST_OPTIONS})
  qv_use_precompiled(${name} qv_test_headers)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(QV_FAST_BUILD)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
  endif()
  add_dependencies(qv_tests ${name})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  qv_patience(${ARG_TIMEOUT} limit)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${limit} LABELS "${ARG_LABELS}")
  if(ARG_FIRST)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()

# Says that the tests of this folder are left out here, for want of a library.
function(qv_leave_out_tests)
  set_property(GLOBAL APPEND PROPERTY QV_FOLDERS_LEFT_OUT ${CMAKE_CURRENT_SOURCE_DIR})
endfunction()

# Fails if a *_test.cc below tests/ belongs to no target.
function(qv_check_tests_are_built)
  get_property(left_out GLOBAL PROPERTY QV_FOLDERS_LEFT_OUT)
  set(folders ${CMAKE_CURRENT_SOURCE_DIR})
  set(built "")
  while(folders)
    list(POP_FRONT folders folder)
    get_directory_property(below DIRECTORY ${folder} SUBDIRECTORIES)
    list(APPEND folders ${below})
    get_directory_property(targets DIRECTORY ${folder} BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(sources ${target} SOURCES)
      get_target_property(from ${target} SOURCE_DIR)
      foreach(source IN LISTS sources)
        get_filename_component(path ${source} ABSOLUTE BASE_DIR ${from})
        list(APPEND built ${path})
      endforeach()
    endforeach()
  endwhile()
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  foreach(test IN LISTS tests)
    get_filename_component(folder ${test} DIRECTORY)
    if(NOT test IN_LIST built AND NOT folder IN_LIST left_out)
      message(FATAL_ERROR "${test} is in no CMakeLists.txt: it would never run")
    endif()
  endforeach()
endfunction()
