// Names and explains the files of a data directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"

namespace quiver::engine {

/// What a file is, and what its loss means.
struct FileKind {
  std::string_view name;     ///< "rows of a segment"
  std::string_view about;    ///< what is in it
  std::string_view if_lost;  ///< what happens without it
};

struct FileFacts {
  std::string path;    ///< relative to what was asked for
  std::string format;  ///< magic bytes, "RocksDB", "JSON", "text"; empty: unknown
  const FileKind* kind = nullptr;
  std::uint64_t size_bytes = 0;
  std::optional<std::uint32_t> version;
  std::vector<std::pair<std::string, std::uint64_t>> counts;  ///< "rows", "sections", …
  std::string problem;  ///< why it could not be read; empty if it could
};

/// The kind of a file without a name that is known and without known magic bytes.
[[nodiscard]] const FileKind& unknown_file();

/// True if the file has the head of a file of sections. `end_magic` is what its end must say.
struct SectionKind {
  std::string_view magic;
  std::string_view end_magic;
  FileKind kind;
};
/// nullptr if no format of ours has these first 8 bytes.
[[nodiscard]] const SectionKind* section_kind(std::string_view magic);

/// `name` in `directory`. `path` is its path as far as it is known, for its place in the data
/// directory: a log of rows and a log of an audit have the same ending. Reads heads and ends of
/// files, so damage in the middle is not seen (check.h sees it).
[[nodiscard]] FileFacts describe_file(const Directory& directory, std::string_view name,
                                      const std::string& path);

/// The file at `path`, or all files below that directory, by path. Changes nothing and takes no
/// lock. kNotFound if there is nothing.
[[nodiscard]] Result<std::vector<FileFacts>> describe_files(const std::string& path);

/// First 8 bytes of a sealed payload column.
inline constexpr std::string_view kColumnMagic = "QVPAYCOL";

}  // namespace quiver::engine
