// Rows that are stored and searched together: a frozen view of the mutable segment, or a sealed one
// whose columns lie in mapped files. Both look the same to a reader.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bitset.h"
#include "base/ids.h"
#include "base/shared_span.h"
#include "engine/id_table.h"
#include "engine/row.h"
#include "index/index.h"
#include "payload/column.h"

namespace quiver::engine {

/// The payloads of a segment: JSON text one after another.
struct Documents {
  SharedSpan<std::uint64_t> offsets;  ///< `[n_rows + 1]`
  SharedSpan<std::byte> bytes;

  [[nodiscard]] std::string_view operator[](std::uint32_t row) const {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    return {text + offsets[row], offsets[row + 1] - offsets[row]};
  }
};

/// A vector index: of which type, and what it was built with.
struct IndexSpec {
  const index::IndexType* type = nullptr;  ///< flat: exact, no files
  KeyValues build;

  bool operator==(const IndexSpec&) const = default;
};

/// Columns of the rows of one segment. Immutable; shares the memory it shows.
struct SegmentData {
  std::uint64_t id = 0;
  bool sealed = false;  ///< rows are in id order, and on disk
  std::uint32_t n_rows = 0;
  SharedSpan<PointId> ids;
  SharedSpan<Seq> seqs;
  Documents documents;
  std::vector<index::FieldColumn> fields;  ///< as in the collection's configuration
  std::vector<std::shared_ptr<const index::Searcher>> searchers;    ///< one for each field
  std::vector<IndexSpec> indexes;                                   ///< of the searchers
  std::map<std::string, payload::ColumnView, std::less<>> columns;  ///< payload indexes by key
  std::shared_ptr<const IdTable> id_table;                          ///< unsealed only

  /// Bytes of vectors and payload.
  [[nodiscard]] std::uint64_t data_bytes() const;
  void add_field(index::FieldColumn column, std::shared_ptr<const index::Searcher> searcher,
                 const index::IndexType* type);
};

/// Bytes of the vectors of a field.
[[nodiscard]] std::uint64_t data_bytes(const index::FieldColumn& field);

/// A segment in a snapshot: its columns and which of its rows are dead.
struct Segment {
  std::shared_ptr<const SegmentData> data;
  std::shared_ptr<const Bitset> deleted;  ///< `[n_rows]`; nullptr: none
  std::uint32_t n_deleted = 0;

  [[nodiscard]] std::uint32_t n_rows() const { return data->n_rows; }
  [[nodiscard]] std::uint32_t n_live() const { return data->n_rows - n_deleted; }
  [[nodiscard]] bool is_live(std::uint32_t row) const {
    return deleted == nullptr || !deleted->test(row);
  }
  /// The live row of `id`.
  [[nodiscard]] std::optional<std::uint32_t> find(const PointId& id) const;
  /// Live rows as a bitmap.
  [[nodiscard]] Bitset live() const;
  /// A copy of a row's stored values.
  [[nodiscard]] Row row(std::uint32_t row) const;
  [[nodiscard]] StoredVector vector(std::size_t field, std::uint32_t row) const;
};

/// One consistent state of a shard: every id is live in at most one segment.
struct SegmentSet {
  Seq seq{};  ///< the last operation in it
  std::vector<Segment> segments;

  struct Place {
    std::uint32_t segment = 0;
    std::uint32_t row = 0;
  };
  [[nodiscard]] std::optional<Place> find(const PointId& id) const;
  [[nodiscard]] std::uint64_t n_live() const;
};

/// The first row of `ids` (ascending) that is not below `id`.
[[nodiscard]] std::uint32_t lower_bound_row(std::span<const PointId> ids, const PointId& id);

}  // namespace quiver::engine
