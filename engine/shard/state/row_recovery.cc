#include "engine/shard/state/row_recovery.h"

#include <algorithm>
#include <utility>

#include "engine/model/row.h"

namespace quiver::engine {
namespace {

/// Points whose rows are read from the store in one call.
constexpr std::size_t kRowsPerRead = 256;

}  // namespace

Result<> RowRecovery::recover(std::span<const PointId> ids) {
  while (!ids.empty()) {
    const auto chunk = ids.first(std::min(kRowsPerRead, ids.size()));
    Result<> status;
    QV_TRY(common_.store().rows(chunk, [&](std::size_t i, std::optional<std::string_view> bytes) {
      if (status) status = recover_one(chunk[i], bytes);
    }));
    QV_TRY(std::move(status));
    ids = ids.subspan(chunk.size());
  }
  return {};
}

Result<> RowRecovery::recover_one(const PointId& id, std::optional<std::string_view> bytes) {
  if (!bytes) {
    table_.remove(id);
    return {};
  }
  QV_TRY(const Row row, decode_row(id, *bytes, common_.config.load()->fields));
  const auto set = table_.snapshot();
  if (const auto place = set->find(id)) {
    if (set->segments[place->segment].data->seqs[place->row] == row.seq) return {};
    table_.remove(id);
  }
  table_.set_next_seq(std::max(table_.next_seq(), Seq{to_number(row.seq) + 1}));
  table_.append(row);
  if (table_.is_full()) table_.freeze();
  return {};
}

Result<> RowRecovery::rebuild() {
  Result<> status;
  QV_TRY(common_.store().scan_rows(std::nullopt, [&](const PointId& id, std::string_view bytes) {
    status = common_.closed ? fail(Code::kUnavailable, "the collection is closed")
                            : recover_one(id, bytes);
    return status.has_value();
  }));
  QV_TRY(std::move(status));
  table_.damaged().rebuild_barrier = table_.mutable_segment().id();
  return {};
}

}  // namespace quiver::engine
