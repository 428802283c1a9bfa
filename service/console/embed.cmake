# Writes a C++ file with the console's files as raw strings. Run by the build:
# cmake -D FOLDER=… -D OUT=… -P embed.cmake
file(GLOB_RECURSE paths RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT paths)
set(entries "")
foreach(path ${paths})
  file(READ ${FOLDER}/${path} body)
  string(APPEND entries "    {\"${path}\", R\"-quiver-(${body})-quiver-\"},\n")
endforeach()
file(WRITE ${OUT} "// Made by embed.cmake.
#include \"service/console/console.h\"

namespace quiver::service::console {
namespace {

constexpr EmbeddedFile kFiles[] = {
${entries}};

}  // namespace

std::span<const EmbeddedFile> embedded_files() { return kFiles; }

}  // namespace quiver::service::console
")
