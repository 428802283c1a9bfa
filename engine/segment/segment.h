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
#include "base/io/file.h"
#include "base/io/shared_span.h"
#include "base/result.h"
#include "base/views.h"
#include "engine/model/row.h"
#include "engine/segment/id_table.h"
#include "index/index.h"
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

/// A vector index: of which type, and what it was built with.
struct IndexSpec {
  const index::IndexType* type = nullptr;  ///< flat: exact, no files
  KeyValues build;

  bool operator==(const IndexSpec&) const = default;
};

/// Columns of the rows of one segment. Immutable; shares the memory it shows.
///
/// The files of a sealed one may become unreadable while they are in use (`MappedFile`): whoever
/// made something of what they hold asks `check_files` before it counts.
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
  std::vector<std::shared_ptr<const MappedFiles>> index_files;      ///< likewise; nullptr: none
  std::map<std::string, payload::ColumnView, std::less<>> columns;  ///< payload indexes by key
  std::shared_ptr<const IdTable> id_table;                          ///< unsealed only
  std::shared_ptr<const MappedFile> file;                           ///< of the rows, sealed only

  /// Bytes of vectors and payload.
  [[nodiscard]] std::uint64_t data_bytes() const;
  /// kUnavailable, naming what it is of, if a file could not be read any more: then nothing counts
  /// that was made of this segment until now. A few loads for each file.
  [[nodiscard]] Result<> check_files() const;
  /// The same of the file of the rows alone.
  [[nodiscard]] Result<> check_rows() const;
  [[nodiscard]] bool are_rows_damaged() const { return file != nullptr && file->is_damaged(); }
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
  /// The live row of `id`; none of a segment whose rows are damaged.
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
  bool is_whole = true;  ///< false: rows of a damaged segment are not all read again

  struct Place {
    std::uint32_t segment = 0;
    std::uint32_t row = 0;
  };
  [[nodiscard]] std::optional<Place> find(const PointId& id) const;
  [[nodiscard]] std::uint64_t n_live() const;
  /// kUnavailable if what was read of it until now may be wrong.
  [[nodiscard]] Result<> check() const;
};

/// The first row of `ids` (ascending) that is not below `id`.
[[nodiscard]] std::uint32_t lower_bound_row(std::span<const PointId> ids, const PointId& id);

/// The live rows that have a vector; nothing: every row is one.
[[nodiscard]] std::optional<Bitset> live_with_vector(const Segment& segment, std::size_t field);
/// Those of `rows` that have a vector.
[[nodiscard]] Bitset with_vector(const Segment& segment, std::size_t field, Bitset rows);

}  // namespace quiver::engine
