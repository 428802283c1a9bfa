# Warnings, sanitizers and ccache for every room.
add_library(qv_options INTERFACE)
target_compile_options(qv_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
target_include_directories(qv_options INTERFACE ${CMAKE_SOURCE_DIR})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms: std::string's operator+ at -O2 (GCC bug 105651, fixed in 13), and moves of values that a
  # tl::expected does not hold. clang still checks for real ones.
  target_compile_options(qv_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC takes the files of a unity build for headers.
  target_compile_options(qv_options INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND QV_FAST_BUILD)
  # The compiler collects its garbage from 1 GiB on (unit: KiB): a tenth less time for a sixth more memory.
  add_compile_options(--param=ggc-min-heapsize=1048576)
endif()
if(QV_WERROR)
  target_compile_options(qv_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Only clang checks lock annotations and discarded results.
  target_compile_options(qv_options INTERFACE -Wthread-safety -Werror=unused-result)
endif()
if(NOT QV_SANITIZE)
  # Costs nothing after the start: all relocations are done before main() and read-only then.
  target_link_options(qv_options INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
if(QV_HARDEN)
  # tools/check_hardening.py looks for them.
  target_compile_options(qv_options INTERFACE -fPIE -fstack-protector-strong -fstack-clash-protection -fcf-protection
                         -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  target_link_options(qv_options INTERFACE -pie)
endif()
if(QV_SANITIZE)
  # A report ends the program, as UBSAN_OPTIONS demand. Code that continues after one takes longer to compile.
  target_compile_options(qv_options INTERFACE -fsanitize=${QV_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(qv_options INTERFACE -fsanitize=${QV_SANITIZE})
  if(QV_SANITIZE MATCHES "undefined")
    # They take a tenth of the compile time, and AddressSanitizer finds the same errors.
    target_compile_options(qv_options INTERFACE -fno-sanitize=null,object-size,vptr)
  endif()
endif()

find_program(QV_CCACHE ccache)
if(QV_CCACHE AND QV_FAST_BUILD)
  # Without these flags ccache does not cache files that use precompiled headers.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${QV_CCACHE})
elseif(QV_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${QV_CCACHE})
endif()
