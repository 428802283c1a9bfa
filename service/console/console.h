// The files of the web console, which are compiled into the program (embed.cmake).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quiver::service::console {

/// A file of `service/console/assets/` as the build embeds it.
struct EmbeddedFile {
  std::string_view path;  ///< below the folder: "lib/dom.js"
  std::string_view body;
};

/// The embedded files; the build makes this function.
[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

/// A file as it is served.
struct File {
  std::string_view path;  ///< below `/dashboard/`
  std::string_view content_type;
  std::string_view body;
  std::string gzip;       ///< `body`, compressed
  std::string etag;       ///< strong validator of `body`, with its quotes
  std::string gzip_etag;  ///< strong validator of `gzip`
};

/// All files. They are compressed at the first call, in some ten milliseconds. Thread-safe.
[[nodiscard]] const std::vector<File>& files();
/// nullptr if there is no such file.
[[nodiscard]] const File* find_file(std::string_view path);

/// True if a cached answer with `etag` is named by the value of a header `if-none-match` (RFC 9110,
/// 13.1.2).
[[nodiscard]] bool names_etag(std::string_view if_none_match, std::string_view etag);

}  // namespace quiver::service::console
