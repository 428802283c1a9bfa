// Changes of one shard that become durable together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace quiver::storage {

/// An ordered list of changes; the last change of a key wins. Copies its arguments. One thread.
class RowBatch {
 public:
  /// Makes room for changes of so many bytes in all.
  void reserve(std::size_t n_bytes) { bytes_.reserve(n_bytes); }
  void put_row(const PointId& id, std::string_view row);
  void delete_row(const PointId& id);
  void put_op(Seq seq, std::string_view op);
  /// Removes every operation with a number less than `below`.
  void trim_ops(Seq below);
  void put_meta(std::string_view key, std::string_view value);
  void delete_meta(std::string_view key);

  /// Keys and values so far, plus a few bytes per change.
  [[nodiscard]] std::size_t size_bytes() const { return bytes_.size(); }
  [[nodiscard]] std::size_t size() const { return n_changes_; }
  [[nodiscard]] bool empty() const { return n_changes_ == 0; }
  /// Removes all changes and keeps the memory.
  void clear();

  enum class Table : std::uint8_t { kPoints, kOps, kMeta };
  enum class Kind : std::uint8_t { kPut, kDelete, kDeleteBelow };
  /// Takes keys in stored form; for this room only.
  void put(Table table, std::string_view key, std::string_view value) {
    add(Kind::kPut, table, key, value);
  }
  void erase(Table table, std::string_view key) { add(Kind::kDelete, table, key, {}); }

  struct Change {
    Kind kind;
    Table table;
    std::string_view key;    ///< kDeleteBelow: the first key that is kept
    std::string_view value;  ///< empty unless kPut
  };
  /// Calls `visit` for each change in order. The views are valid during the call.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::size_t at = 0;
    while (at < bytes_.size()) visit(next(at));
  }

 private:
  void add(Kind kind, Table table, std::string_view key, std::string_view value);
  [[nodiscard]] Change next(std::size_t& at) const;

  std::string bytes_;  // records: kind, table, key length u32, value length u64, key, value
  std::size_t n_changes_ = 0;
};

}  // namespace quiver::storage
