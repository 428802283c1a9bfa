#include "service/console/console.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "service/http/exchange/compression.h"

namespace quiver::service::console {
namespace {

/// Files are compressed once and sent often.
constexpr int kBestGzipLevel = 9;

std::string_view content_type_of(std::string_view path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  QV_CHECK(path.ends_with(".svg"));
  return "image/svg+xml";
}

File prepare(const EmbeddedFile& embedded) {
  const std::uint64_t hash = hash_text(embedded.body);
  return {.path = embedded.path,
          .content_type = content_type_of(embedded.path),
          .body = embedded.body,
          .gzip = gzip_if_smaller(embedded.body, kBestGzipLevel),
          .etag = fmt::format("\"{:016x}\"", hash),
          .gzip_etag = fmt::format("\"{:016x}-gzip\"", hash)};
}

std::string_view next_item(std::string_view& list) {
  const auto comma = std::min(list.find(','), list.size());
  auto item = list.substr(0, comma);
  list.remove_prefix(std::min(comma + 1, list.size()));
  while (item.starts_with(' ') || item.starts_with('\t')) item.remove_prefix(1);
  while (item.ends_with(' ') || item.ends_with('\t')) item.remove_suffix(1);
  return item;
}

}  // namespace

const std::vector<File>& files() {
  static const std::vector<File> prepared = [] {
    std::vector<File> made;
    for (const auto& embedded : embedded_files()) made.push_back(prepare(embedded));
    return made;
  }();
  return prepared;
}

const File* find_file(std::string_view path) {
  const auto found = std::ranges::find(files(), path, &File::path);
  return found == files().end() ? nullptr : &*found;
}

bool names_etag(std::string_view if_none_match, std::string_view etag) {
  while (!if_none_match.empty()) {
    auto item = next_item(if_none_match);
    if (item == "*") return true;
    if (item.starts_with("W/")) item.remove_prefix(2);
    if (item == etag) return true;
  }
  return false;
}

}  // namespace quiver::service::console
