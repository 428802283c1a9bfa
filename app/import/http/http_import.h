// Sends rows to a server over several connections.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "app/import/http/acknowledged.h"
#include "app/import/http/block_queue.h"
#include "app/import/http/http_target.h"
#include "app/import/reading/bad_rows.h"
#include "app/import/reading/row_reader.h"

namespace quiver::app {

struct HttpImportOptions {
  std::uint32_t connections = 4;
  std::uint32_t batch = 0;  ///< points per request; 0: as many as fill a good body
  Ids ids = Ids::kDistinct;
};

/// Reads all rows of `reader` and sends them; `tick` is called several times a second with what is
/// done so far, and ends the import in good order by returning false. Returns when nothing is on
/// its way any more: the error says what kept it from reaching the end (of several, the one of the
/// lowest row).
[[nodiscard]] Result<> import_over_http(
    const HttpTarget& target, const HttpImportOptions& options, RowReader& reader,
    BadRows& bad_rows, Acknowledged& acknowledged,
    const std::function<bool(const Acknowledged::Progress&)>& tick);

}  // namespace quiver::app
