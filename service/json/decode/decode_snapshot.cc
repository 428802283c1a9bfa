// Where a snapshot is recovered from.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "service/json/decode/decode.h"
#include "service/json/element.h"

namespace quiver::service::json {
namespace {

constexpr std::size_t kChecksumDigits = 64;

Decoded<std::string> optional_string(Object object, std::string_view name) {
  const auto value = find(object, name);
  if (!value) return std::string();
  const Path root;
  QV_TRY(const auto text, get_string(*value, root.member(name)));
  return std::string(text);
}

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::iscntrl(c) != 0; });
}

}  // namespace

bool is_sha256(std::string_view text) {
  return text.size() == kChecksumDigits &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

std::string bad_sha256(std::string_view text) {
  return fmt::format("Validation error: invalid_sha256_hash: `{}` is not {} hexadecimal digits",
                     text.substr(0, 2 * kChecksumDigits), kChecksumDigits);
}

Decoded<api::SnapshotPriority> parse_priority(std::string_view text) {
  if (text.empty() || text == "replica") return api::SnapshotPriority::kReplica;
  if (text == "snapshot") return api::SnapshotPriority::kSnapshot;
  if (text == "no_sync") return api::SnapshotPriority::kNoSync;
  return fail(ApiError(
      400,
      fmt::format("unknown variant `{}`, expected one of `no_sync`, `snapshot`, `replica`", text)));
}

Decoded<api::SnapshotRecovery> decode_snapshot_recovery(std::string& body) {
  const Path root;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(const Element location, require(object, "location", root));
  QV_TRY(const auto text, get_string(location, root.member("location")));
  api::SnapshotRecovery recovery;
  recovery.location = text;
  QV_TRY(recovery.checksum, optional_string(object, "checksum"));
  if (!recovery.checksum.empty() && !is_sha256(recovery.checksum)) {
    return validation_error(root.member("checksum"), bad_sha256(recovery.checksum));
  }
  QV_TRY(recovery.api_key, optional_string(object, "api_key"));
  if (has_control_character(recovery.api_key)) {  // it goes into a header
    return validation_error(root.member("api_key"), "must not contain control characters");
  }
  QV_TRY(const auto priority, optional_string(object, "priority"));
  const auto known = parse_priority(priority);
  if (!known) return format_error(root.member("priority"), known.error().text);
  recovery.priority = *known;
  return recovery;
}

}  // namespace quiver::service::json
