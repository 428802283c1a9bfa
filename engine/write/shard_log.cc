#include "engine/write/shard_log.h"

#include <utility>

#include "base/observe/failure.h"
#include "engine/model/row.h"
#include "storage/rows/row_batch.h"

namespace quiver::engine {
namespace {

constexpr char kPut = 1;
constexpr char kDelete = 2;

}  // namespace

std::string encode_op(bool is_put, const PointId& id) {
  return std::string(1, is_put ? kPut : kDelete) + id.to_key();
}

Result<LoggedOp> decode_op(std::string_view bytes) {
  const auto id = bytes.empty() ? std::nullopt : PointId::from_key(bytes.substr(1));
  if (!id || (bytes[0] != kPut && bytes[0] != kDelete)) {
    return fail(Code::kDataLoss, "an entry of the operation log is damaged");
  }
  return LoggedOp{bytes[0] == kPut, *id};
}

void LocalLog::append(const Staging& group, const Committed& committed) noexcept {
  committed(guarded([&] { return write(group); }));
}

void add_changes(const Staging& group, storage::RowBatch& batch) {
  constexpr std::size_t kOtherBytes = 128;  // of a change: keys, record heads, its entry in `ops`
  std::size_t n_bytes = batch.size_bytes();
  for (const auto& change : group.changes()) {
    n_bytes += kOtherBytes + (change.row == nullptr ? 0 : change.row->payload.size());
  }
  batch.reserve(n_bytes);
  for (const auto& change : group.changes()) {
    if (change.row != nullptr) {
      batch.put_row(change.id, encode_row(*change.row));
    } else {
      batch.delete_row(change.id);
    }
    batch.put_op(change.seq, encode_op(change.row != nullptr, change.id));
  }
}

Result<> LocalLog::write(const Staging& group) {
  storage::RowBatch batch;
  add_changes(group, batch);
  return store_.write(batch);
}

Result<> LocalLog::replay(Seq from, const Visit& visit) const {
  Result<> status;
  QV_TRY(store_.scan_ops(from, [&](Seq, std::string_view bytes) {
    const auto op = decode_op(bytes);
    if (op) {
      visit(*op);
    } else {
      status = fail(op.error());
    }
    return op.has_value();
  }));
  return status;
}

}  // namespace quiver::engine
