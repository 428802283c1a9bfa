// Rows that are stored and searched together: a view of the mutable segment, or a sealed segment
// with columns in mapped files. Both look the same to a reader.
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
#include "base/io/file.h"
#include "base/io/shared_span.h"
#include "base/result.h"
#include "base/views.h"
#include "engine/model/row.h"
#include "engine/segment/id_table.h"
#include "engine/segment/verdict_cache.h"
#include "index/index.h"
#include "payload/attribute/attribute_file.h"
#include "payload/attribute/growing.h"
#include "payload/column/column.h"

namespace quiver::engine {

/// The payloads of a segment: JSON text one after another.
struct Documents {
  SharedSpan<std::uint64_t> offsets;  ///< `[n_rows + 1]`
  SharedSpan<std::byte> bytes;

  [[nodiscard]] std::string_view operator[](std::uint32_t row) const {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    const std::uint64_t first = offsets[row];
    return {text + first, length_between(first, offsets[row + 1])};
  }
};

/// A vector index: its type and build parameters.
struct IndexSpec {
  const index::IndexType* type = nullptr;  ///< the flat type searches exactly, without files
  KeyValues build;

  bool operator==(const IndexSpec&) const = default;
};

/// Columns of the rows of one segment. Immutable; shares the memory of the columns.
///
/// Files of a sealed segment may become unreadable while they are in use (`MappedFile`). Code that
/// derives something from them must call `check_files` before it uses the result.
struct SegmentData {
  std::uint64_t id = 0;
  bool sealed = false;         ///< rows are on disk, and in id order unless there is an `id_order`
  bool holds_dropped = false;  ///< the file of the rows has vectors of a dropped field
  std::uint32_t n_rows = 0;
  SharedSpan<PointId> ids;
  /// The rows by id, ascending, of a sealed segment whose rows lie by tenant; otherwise empty.
  SharedSpan<std::uint32_t> id_order;
  SharedSpan<Seq> seqs;
  Documents documents;
  std::vector<index::FieldColumn> fields;  ///< fields in the order of the configuration
  std::vector<std::shared_ptr<const index::Searcher>> searchers;    ///< one for each field
  std::vector<IndexSpec> indexes;                                   ///< one for each searcher
  std::vector<std::shared_ptr<const MappedFiles>> index_files;      ///< the same; nullptr: none
  std::map<std::string, payload::ColumnView, std::less<>> columns;  ///< payload indexes by key
  /// What is known of payload paths that have no index. Sealed: nullptr if it was damaged.
  std::shared_ptr<const payload::OpenedAttributes> attributes;
  std::shared_ptr<payload::GrowingAttributes> growing_attributes;  ///< unsealed only
  mutable VerdictCache verdicts;                                   ///< sealed only
  std::shared_ptr<const IdTable> id_table;                         ///< unsealed only
  std::shared_ptr<const MappedFile> file;                          ///< the rows; sealed only

  /// True if a later row has a larger id.
  [[nodiscard]] bool has_sorted_ids() const { return sealed && id_order.empty(); }
  /// Ids by which rows are compared; empty if row order is id order.
  [[nodiscard]] std::span<const PointId> ids_unless_sorted() const {
    return has_sorted_ids() ? std::span<const PointId>() : ids.span();
  }
  /// Sealed only: the row with the id of this rank.
  [[nodiscard]] std::uint32_t row_of_rank(std::uint32_t rank) const {
    return id_order.empty() ? rank : id_order[rank];
  }
  /// Sealed only: the number of ids below `wanted`.
  [[nodiscard]] std::uint32_t rank_of(const PointId& wanted) const;

  /// Size of vectors and payload, bytes.
  [[nodiscard]] std::uint64_t data_bytes() const;
  /// kUnavailable, naming the part, if a file has become unreadable. Then everything derived from
  /// this segment so far must be discarded. Costs a few loads for each file.
  [[nodiscard]] Result<> check_files() const;
  /// As `check_files`, for the file of the rows alone.
  [[nodiscard]] Result<> check_rows() const;
  [[nodiscard]] bool are_rows_damaged() const { return file != nullptr && file->is_damaged(); }
  void add_field(index::FieldColumn column, std::shared_ptr<const index::Searcher> searcher,
                 const index::IndexType* type);
};

/// Size of the vectors of a field, bytes.
[[nodiscard]] std::uint64_t data_bytes(const index::FieldColumn& field);

/// A segment in a snapshot: its columns, and a bitmap of its dead rows.
struct Segment {
  std::shared_ptr<const SegmentData> data;
  std::shared_ptr<const Bitset> deleted;  ///< `[n_rows]`; nullptr: none
  std::uint32_t n_deleted = 0;

  [[nodiscard]] std::uint32_t n_rows() const { return data->n_rows; }
  [[nodiscard]] std::uint32_t n_live() const { return data->n_rows - n_deleted; }
  [[nodiscard]] bool is_live(std::uint32_t row) const {
    return deleted == nullptr || !deleted->test(row);
  }
  /// The live row of `id`. Nothing if the rows are damaged.
  [[nodiscard]] std::optional<std::uint32_t> find(const PointId& id) const;
  /// Live rows as a bitmap.
  [[nodiscard]] Bitset live() const;
  /// A copy of a row's stored values.
  [[nodiscard]] Row row(std::uint32_t row) const;
  [[nodiscard]] StoredVector vector(std::size_t field, std::uint32_t row) const;
};

/// One consistent state of a shard: every id is live in at most one segment.
struct SegmentSet {
  Seq seq{};  ///< the last change in it
  std::vector<Segment> segments;
  bool is_whole = true;  ///< false: rows of a damaged segment are still missing
  /// The mutable segment while it has no rows, which searches need not see; nullptr if it has some.
  std::shared_ptr<const SegmentData> empty_mutable = nullptr;

  struct Place {
    std::uint32_t segment = 0;
    std::uint32_t row = 0;
  };
  [[nodiscard]] std::optional<Place> find(const PointId& id) const;
  [[nodiscard]] std::uint64_t n_live() const;
  /// kUnavailable if something that was read from it may be wrong.
  [[nodiscard]] Result<> check() const;
};

/// The first row of `ids` (ascending) with an id not below `id`.
[[nodiscard]] std::uint32_t lower_bound_row(std::span<const PointId> ids, const PointId& id);

/// The live rows that have a vector in the field; nullopt: all rows.
[[nodiscard]] std::optional<Bitset> live_with_vector(const Segment& segment, std::size_t field);
/// The rows of `rows` that have a vector in the field.
[[nodiscard]] Bitset with_vector(const Segment& segment, std::size_t field, Bitset rows);

}  // namespace quiver::engine
