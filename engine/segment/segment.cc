#include "engine/segment/segment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/io/write_watch.h"

namespace quiver::engine {
namespace {

Tokens copy_tokens(const MatrixView& rows) {
  const std::size_t row_bytes = vector_bytes(rows.dim, rows.dtype);
  Tokens tokens{static_cast<std::uint32_t>(rows.n_rows), {}};
  tokens.bytes.reserve(rows.n_rows * row_bytes);
  for (std::size_t i = 0; i < rows.n_rows; ++i) {
    tokens.bytes.insert(tokens.bytes.end(), rows.row(i), rows.row(i) + row_bytes);
  }
  return tokens;
}

tl::unexpected<Error> unreadable(const SegmentData& data, std::string_view what) {
  return fail(Code::kUnavailable,
              fmt::format("{} of segment {} could not be read any more; the rows in the store are "
                          "read again, try again later",
                          what, data.id));
}

}  // namespace

std::uint64_t data_bytes(const index::FieldColumn& field) {
  switch (field.schema.kind) {
    case FieldKind::kDense:
      return field.dense().bytes.size();
    case FieldKind::kSparse:
      return field.sparse().indices.size() * 8;
    case FieldKind::kMulti:
      return field.multi().tokens.bytes.size();
  }
  return 0;
}

std::uint64_t SegmentData::data_bytes() const {
  std::uint64_t bytes = documents.bytes.size();
  for (const auto& field : fields) bytes += engine::data_bytes(field);
  return bytes;
}

std::uint32_t SegmentData::rank_of(const PointId& wanted) const {
  const auto all = ids.span();
  if (id_order.empty()) return lower_bound_row(all, wanted);
  const auto order = id_order.span();
  const auto is_below = [&](std::uint32_t row, const PointId& other) { return all[row] < other; };
  const auto found = std::lower_bound(order.begin(), order.end(), wanted, is_below);
  return static_cast<std::uint32_t>(found - order.begin());
}

Result<> SegmentData::check_rows() const {
  if (are_rows_damaged()) return unreadable(*this, "the rows");
  return {};
}

Result<> SegmentData::check_files() const {
  QV_TRY(check_rows());
  for (const auto& [key, column] : columns) {
    if (column.file != nullptr && column.file->is_damaged()) {
      return unreadable(*this, fmt::format("the index of `{}`", key));
    }
  }
  if (attributes != nullptr && attributes->file->is_damaged()) {
    return unreadable(*this, "the attributes");
  }
  for (std::size_t field = 0; field < index_files.size(); ++field) {
    if (index_files[field] == nullptr || index_files[field]->check()) continue;
    return unreadable(*this, fmt::format("the index of vector `{}`", fields[field].schema.name));
  }
  return {};
}

void SegmentData::add_field(index::FieldColumn column,
                            std::shared_ptr<const index::Searcher> searcher,
                            const index::IndexType* type) {
  fields.push_back(std::move(column));
  searchers.push_back(std::move(searcher));
  indexes.push_back({type, {}});
  index_files.push_back(nullptr);
}

std::optional<std::uint32_t> Segment::find(const PointId& id) const {
  const auto ids = data->ids.span();
  if (!data->sealed) {
    std::optional<std::uint32_t> found;
    data->id_table->find(id, ids, [&](std::uint32_t row) {
      if (!is_live(row)) return false;
      found = row;
      return true;
    });
    return found;
  }
  const std::uint32_t rank = data->rank_of(id);
  if (rank == ids.size()) return std::nullopt;
  const std::uint32_t row = data->row_of_rank(rank);
  if (ids[row] != id || !is_live(row) || data->are_rows_damaged()) return std::nullopt;
  return row;
}

Bitset Segment::live() const {
  Bitset bits(n_rows(), true);
  if (deleted != nullptr) bits.subtract(*deleted);
  return bits;
}

StoredVector Segment::vector(std::size_t field, std::uint32_t row) const {
  const auto& column = data->fields[field];
  if (column.present[row] == 0) return {};
  switch (column.schema.kind) {
    case FieldKind::kDense: {
      MatrixView rows = column.dense().rows();
      rows.data = rows.row(row);
      rows.n_rows = 1;
      return copy_tokens(rows);
    }
    case FieldKind::kMulti:
      return copy_tokens(column.multi().row(row));
    case FieldKind::kSparse:
      break;
  }
  const SparseView view = column.sparse().row(row);
  return SparseVector{{view.indices.begin(), view.indices.end()},
                      {view.values.begin(), view.values.end()}};
}

Row Segment::row(std::uint32_t row) const {
  Row copy{data->ids[row], data->seqs[row], std::string(data->documents[row]), {}};
  copy.vectors.reserve(data->fields.size());
  for (std::size_t field = 0; field < data->fields.size(); ++field) {
    copy.vectors.push_back(vector(field, row));
  }
  return copy;
}

std::optional<SegmentSet::Place> SegmentSet::find(const PointId& id) const {
  for (std::uint32_t i = static_cast<std::uint32_t>(segments.size()); i-- > 0;) {
    if (const auto row = segments[i].find(id)) return Place{i, *row};
  }
  return std::nullopt;
}

std::uint64_t SegmentSet::n_live() const {
  std::uint64_t n = 0;
  for (const auto& segment : segments) n += segment.n_live();
  return n;
}

Result<> SegmentSet::check() const {
  notice_writes();
  for (const auto& segment : segments) QV_TRY(segment.data->check_files());
  if (is_whole) return {};
  return fail(Code::kUnavailable,
              "a segment could not be read any more; its rows are read from the store again, try "
              "again later");
}

std::uint32_t lower_bound_row(std::span<const PointId> ids, const PointId& id) {
  return static_cast<std::uint32_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
}

std::optional<Bitset> live_with_vector(const Segment& segment, std::size_t field) {
  const bool is_all = segment.n_deleted == 0 && segment.data->fields[field].all_present();
  if (is_all) return std::nullopt;
  return with_vector(segment, field, segment.live());
}

Bitset with_vector(const Segment& segment, std::size_t field, Bitset rows) {
  const auto& column = segment.data->fields[field];
  if (column.all_present()) return rows;
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    if (column.present[row] == 0) rows.reset(row);
  }
  return rows;
}

}  // namespace quiver::engine
