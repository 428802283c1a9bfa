#include "storage/rows/row_batch.h"

#include <cstring>

#include "storage/rows/keys.h"

namespace quiver::storage {

namespace {
constexpr std::size_t kRecordHeaderBytes = 2 + sizeof(std::uint32_t) + sizeof(std::uint64_t);
}

void RowBatch::put_row(const PointId& id, std::string_view row) {
  add(Kind::kPut, Table::kPoints, PointKey(id).view(), row);
}

void RowBatch::delete_row(const PointId& id) {
  add(Kind::kDelete, Table::kPoints, PointKey(id).view(), {});
}

void RowBatch::put_op(Seq seq, std::string_view op) {
  add(Kind::kPut, Table::kOps, OpKey(seq).view(), op);
}

void RowBatch::trim_ops(Seq below) {
  add(Kind::kDeleteBelow, Table::kOps, OpKey(below).view(), {});
}

void RowBatch::put_meta(std::string_view key, std::string_view value) {
  add(Kind::kPut, Table::kMeta, key, value);
}

void RowBatch::delete_meta(std::string_view key) { add(Kind::kDelete, Table::kMeta, key, {}); }

void RowBatch::clear() {
  bytes_.clear();
  n_changes_ = 0;
}

void RowBatch::add(Kind kind, Table table, std::string_view key, std::string_view value) {
  const auto key_size = static_cast<std::uint32_t>(key.size());
  const auto value_size = static_cast<std::uint64_t>(value.size());
  char header[kRecordHeaderBytes] = {static_cast<char>(kind), static_cast<char>(table)};
  std::memcpy(header + 2, &key_size, sizeof(key_size));
  std::memcpy(header + 2 + sizeof(key_size), &value_size, sizeof(value_size));
  bytes_.append(header, kRecordHeaderBytes).append(key).append(value);
  ++n_changes_;
}

RowBatch::Change RowBatch::next(std::size_t& at) const {
  const char* header = bytes_.data() + at;
  std::uint32_t key_size = 0;
  std::uint64_t value_size = 0;
  std::memcpy(&key_size, header + 2, sizeof(key_size));
  std::memcpy(&value_size, header + 2 + sizeof(key_size), sizeof(value_size));
  const char* key = header + kRecordHeaderBytes;
  at += kRecordHeaderBytes + key_size + value_size;
  return {static_cast<Kind>(header[0]),
          static_cast<Table>(header[1]),
          {key, key_size},
          {key + key_size, static_cast<std::size_t>(value_size)}};
}

}  // namespace quiver::storage
