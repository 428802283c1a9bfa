// Searches the audit log: which requests were there?
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/access/audit_log.h"

namespace quiver::service::access {

struct AuditQuery {
  std::optional<std::int64_t> from_ms = {};  ///< since the epoch, inclusive
  std::optional<std::int64_t> to_ms = {};    ///< exclusive
  std::size_t limit = 100;                   ///< entries
  /// Values that members of an entry must have. A name that no entry has matches nothing.
  std::map<std::string, std::string, std::less<>> filters = {};
};

/// A request by the names that Qdrant's answers have, and `transport`, `outcome` and `status`.
using AuditEntry = std::vector<std::pair<std::string, std::string>>;

/// The entry of a line; nullopt if it is none, such as one that a crash cut short.
[[nodiscard]] std::optional<AuditEntry> parse_audit_line(std::string_view line);

/// The last entries that match, the newest first. Reads files line by line and keeps no more than
/// it returns. kUnavailable if a file cannot be read.
[[nodiscard]] Result<std::vector<AuditEntry>> read_audit_log(const AuditLog& log,
                                                             const AuditQuery& query);

}  // namespace quiver::service::access
