# Writes VERSION and the commit of SOURCE into OUTPUT, unless it holds them already.
execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit "")
endif()
set(content "#include \"app/common/version.h\"

namespace quiver::app {
const char* const kVersion = \"${VERSION}\";
const char* const kCommit = \"${commit}\";
}  // namespace quiver::app
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} present)
endif()
if(NOT "${present}" STREQUAL "${content}")
  file(WRITE ${OUTPUT} "${content}")
endif()
