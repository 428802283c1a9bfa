// Where a snapshot is recovered from: a file, or a server that this one may ask.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace quiver::service::api {

struct FileLocation {
  std::string path;  ///< absolute; or a plain name: that of a stored snapshot
};
struct HttpLocation {
  std::string host;
  std::uint16_t port = 0;
  std::string target;
  bool is_tls = false;
};
using SnapshotLocation = std::variant<FileLocation, HttpLocation>;

/// kFailedPrecondition for anything but `file://` (absolute, or on localhost), `http://`,
/// `https://` and plain names.
[[nodiscard]] Result<SnapshotLocation> parse_location(std::string_view text);

/// kPermissionDenied unless `host` is this machine or one of `allowed`: names between commas, "*"
/// for all. A server must not be made to send requests into a network that its callers cannot
/// reach.
[[nodiscard]] Result<> check_host(std::string_view host, std::string_view allowed);

}  // namespace quiver::service::api
