# qv_room(NAME LINKS …): one static library per room, from every .cc below the room's folder.
# A room links only what ARCHITECTURE.md allows it, so a forbidden symbol fails to link.
function(qv_room name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(qv_${name} STATIC ${sources})
  target_link_libraries(qv_${name} PUBLIC qv_options ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  qv_use_precompiled(qv_${name} qv_headers)
endfunction()

# qv_precompiled(OWNER HEADER LINKS … OPTIONS …): reads a header once, for targets with the same options.
# (GCC takes optimisation options from the precompiled header, whatever the command line says.)
# Files still name all that they include: presets without QV_FAST_BUILD make sure of it.
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

# Seconds after which ctest ends a test that needs `idle` at most on an idle machine: a safety only. As in
# tests/patience.h, tests/patience.py and scripts/steps.sh; read when CMake configures.
function(qv_patience idle out)
  set(factor 5)
  if(DEFINED ENV{QUIVER_TEST_PATIENCE})
    set(factor $ENV{QUIVER_TEST_PATIENCE})
  endif()
  math(EXPR seconds "${idle} * ${factor}")
  set(${out} ${seconds} PARENT_SCOPE)
endfunction()

# All of qv_test, without the benchmarks, which tests do not need.
add_custom_target(qv_tests)

# qv_test(NAME SOURCES … LINKS …): one GoogleTest program, registered with ctest as a whole.
function(qv_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE qv_options ${ARG_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  # What is tested is compiled in the rooms; the tests themselves need not be fast.
  target_compile_options(${name} PRIVATE ${QV_TEST_OPTIONS})
  qv_use_precompiled(${name} qv_test_headers)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(QV_FAST_BUILD)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
  endif()
  add_dependencies(qv_tests ${name})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  qv_patience(${ARG_TIMEOUT} limit)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${limit} LABELS "${ARG_LABELS}")
endfunction()
