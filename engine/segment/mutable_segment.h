// The one growing segment of a shard: append-only columns in memory.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/io/append_buffer.h"
#include "engine/model/config.h"
#include "engine/model/row.h"
#include "engine/segment/segment.h"
#include "index/sparse/lists/growing.h"
#include "payload/column/column.h"

namespace quiver::engine {

/// Only the shard's apply lane writes it. Any thread may read a `snapshot`.
class MutableSegment {
 public:
  MutableSegment(std::uint64_t id, const std::vector<FieldSchema>& fields,
                 const std::vector<payload::FieldIndex>& indexes);

  [[nodiscard]] std::uint64_t id() const { return id_; }
  /// True if it has a place for each of `fields`, and none for vectors of dropped ones.
  [[nodiscard]] bool follows(const std::vector<FieldSchema>& fields) const;
  [[nodiscard]] std::uint32_t n_rows() const { return static_cast<std::uint32_t>(ids_.size()); }
  /// Size of vectors and payload.
  [[nodiscard]] std::uint64_t data_bytes() const { return data_bytes_; }
  /// Number of the oldest change that wrote a row.
  [[nodiscard]] Seq first_seq() const { return first_seq_; }

  /// `row` may have been made before fields were added or dropped: it has no vectors for the ones
  /// added, and those of dropped ones are left out. If this throws, columns have different lengths,
  /// and the segment is unusable.
  void append(const Row& row);
  /// Adds a payload column over the rows so far; replaces one of the same key.
  void add_index(const payload::FieldIndex& index);
  /// From now on the payload columns are those of `indexes`. If this throws, some are missing, and
  /// the next call adds them.
  void set_indexes(const std::vector<payload::FieldIndex>& indexes);

  [[nodiscard]] std::shared_ptr<const SegmentData> snapshot() const;

 private:
  /// One vector field. Members that its kind does not need stay empty.
  struct FieldBuffer {
    explicit FieldBuffer(FieldSchema field);
    /// Returns the bytes added.
    std::size_t append(const StoredVector& vector);
    [[nodiscard]] index::FieldColumn view() const;
    /// A searcher over `column`, a `view` of the rows so far.
    [[nodiscard]] std::shared_ptr<const index::Searcher> searcher(index::FieldColumn column) const;

    FieldSchema schema;
    bool dropped = false;  ///< stays empty but for `present`
    std::uint32_t n_present = 0;
    AppendBuffer<std::uint8_t> present;
    AppendBuffer<std::byte> rows;
    AppendBuffer<std::uint64_t> offsets;
    AppendBuffer<std::uint32_t> indices;
    AppendBuffer<float> values;
    index::sparse::GrowingLists lists;  ///< sparse fields

   private:
    void append_tokens(const Tokens& tokens);
  };

  void insert_id(const PointId& id);

  std::uint64_t id_;
  std::uint64_t data_bytes_ = 0;
  Seq first_seq_{std::numeric_limits<std::uint64_t>::max()};
  AppendBuffer<PointId> ids_;
  AppendBuffer<Seq> seqs_;
  AppendBuffer<std::uint64_t> document_offsets_;
  AppendBuffer<std::byte> documents_;
  std::vector<FieldBuffer> fields_;
  std::map<std::string, std::unique_ptr<payload::MutableColumn>, std::less<>> columns_;
  std::shared_ptr<IdTable> id_table_;
  std::shared_ptr<payload::GrowingAttributes> attributes_;
};

}  // namespace quiver::engine
