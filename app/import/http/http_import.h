// Sends rows to a server over several connections.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "app/import/http/acknowledged.h"
#include "app/import/http/block_queue.h"
#include "app/import/http/http_target.h"
#include "app/import/reading/bad_rows.h"
#include "app/import/reading/row_reader.h"

namespace quiver::app {

struct HttpImportOptions {
  std::uint32_t connections = 4;
  std::uint32_t batch = 0;  ///< points per request; 0: about 1 MiB
  Ids ids = Ids::kDistinct;
  std::vector<FieldSchema> fields;  ///< of the collection
};

/// Reads all rows of `reader` and sends them. Calls `tick` several times a second with the
/// progress; if it returns false, the import ends in good order. Returns when no request is in
/// flight. Of several errors it returns that of the lowest row.
[[nodiscard]] Result<> import_over_http(
    const HttpTarget& target, const HttpImportOptions& options, RowReader& reader,
    BadRows& bad_rows, Acknowledged& acknowledged,
    const std::function<bool(const Acknowledged::Progress&)>& tick);

}  // namespace quiver::app
