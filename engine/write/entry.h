// Entries of a replicated log: groups of changes as bytes, named by their number and hash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/schema.h"
#include "engine/model/replication.h"
#include "engine/write/staging.h"

namespace quiver::engine {

/// kEntryHashBytes bytes.
[[nodiscard]] std::string entry_hash(std::string_view body);

/// An entry holds results, not requests: rows and deletes with their sequence numbers. Applying it
/// depends on nothing else. docs/formats/log-entry.md.
[[nodiscard]] std::string encode_entry(const std::vector<Staging::Change>& changes);
/// kDataLoss if `body` is no entry of rows with these fields, or with the first of them.
[[nodiscard]] Result<std::vector<Staging::Change>> decode_entry(
    std::string_view body, const std::vector<FieldSchema>& fields);

}  // namespace quiver::engine
