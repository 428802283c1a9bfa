#include "engine/write/bulk_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/row.h"
#include "engine/segment/fields.h"
#include "engine/write/bulk_field.h"
#include "engine/write/prepared.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

/// The chunk's values for each field of the collection; nullptr: none.
Result<std::vector<const BulkField*>> given_fields(const BulkChunk& chunk,
                                                   const CollectionConfig& config) {
  std::vector<const BulkField*> given(config.fields.size(), nullptr);
  for (const BulkField& field : chunk.fields) {
    QV_TRY(const std::size_t number, config.field(field.name));
    auto& place = given[number];
    if (place != nullptr) {
      return fail(Code::kInvalidArgument,
                  fmt::format("bulk chunk: vector `{}` is given twice", field.name));
    }
    place = &field;
  }
  return given;
}

Result<std::vector<index::FieldColumn>> make_fields(const BulkChunk& chunk,
                                                    const CollectionConfig& config,
                                                    Executor& executor) {
  QV_TRY(const auto given, given_fields(chunk, config));
  std::vector<index::FieldColumn> columns;
  for (std::size_t f = 0; f < given.size(); ++f) {
    const FieldSchema& schema = config.fields[f];
    if (given[f] == nullptr) {
      columns.push_back(absent_column(schema, chunk.ids.size()));
      continue;
    }
    QV_TRY(auto column, make_column(chunk.ids, *given[f], schema, executor));
    columns.push_back(std::move(column));
  }
  return columns;
}

Result<> append_document(std::string_view text, std::string& out) {
  if (text.empty()) {
    out += "{}";
    return {};
  }
  QV_TRY(const auto document, payload::parse_json(text));
  if (document.as_object() == nullptr) {
    return fail(Code::kInvalidArgument, "the payload is not a JSON object");
  }
  payload::write_json(document, out);
  return {};
}

Result<Documents> make_documents(const BulkChunk& chunk, Executor& executor) {
  const std::size_t n = chunk.ids.size();
  if (!chunk.payloads.empty()) QV_TRY(check_length("`payloads`", chunk.payloads.size(), n));
  std::vector<std::uint64_t> offsets(n + 1, 0);  // first the lengths, shifted by one
  std::vector<std::string> texts((n + BulkBlock::kRows - 1) / BulkBlock::kRows);
  const auto write = [&](BulkBlock block) -> Result<> {
    std::string& text = texts[block.number];
    for (std::size_t i = block.first; i < block.end; ++i) {
      const std::size_t before = text.size();
      auto added = append_document(chunk.payloads.empty() ? "" : chunk.payloads[i], text);
      if (!added) return about(chunk.ids[i], added.error());
      offsets[i + 1] = text.size() - before;
    }
    return {};
  };
  QV_TRY(for_each_block(n, executor, write));
  for (std::size_t i = 0; i < n; ++i) offsets[i + 1] += offsets[i];
  std::vector<std::byte> bytes;
  bytes.reserve(offsets.back());
  for (std::string& text : texts) {
    const Bytes view = as_byte_span(text);
    bytes.insert(bytes.end(), view.begin(), view.end());
    std::string().swap(text);
  }
  return Documents{SharedSpan<std::uint64_t>::of(std::move(offsets)),
                   SharedBytes::of(std::move(bytes))};
}

/// Sorts by id and keeps the last row of each.
void sort_part(std::span<const PointId> ids, std::vector<RowRef>& rows) {
  const auto below = [&](const RowRef& a, const RowRef& b) { return ids[a.row] < ids[b.row]; };
  if (!std::is_sorted(rows.begin(), rows.end(), below)) {
    std::stable_sort(rows.begin(), rows.end(), below);
  }
  std::size_t n_kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + 1 < rows.size() && ids[rows[i].row] == ids[rows[i + 1].row]) continue;
    rows[n_kept++] = rows[i];
  }
  rows.resize(n_kept);
}

void split(BulkRows& rows, std::uint32_t n_shards) {
  const auto ids = rows.data.ids.span();
  std::vector<BulkPart> parts(n_shards);
  rows.numbers.resize(ids.size());
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    BulkPart& part = parts[shard_of(ids[i], n_shards)];
    rows.numbers[i] = Seq{part.n_numbers++};
    part.rows.push_back({0, i});
  }
  for (std::uint32_t shard = 0; shard < n_shards; ++shard) {
    if (parts[shard].rows.empty()) continue;
    parts[shard].shard = shard;
    sort_part(ids, parts[shard].rows);
    rows.parts.push_back(std::move(parts[shard]));
  }
}

}  // namespace

Result<BulkRows> make_bulk_rows(const BulkChunk& chunk, const CollectionConfig& config,
                                Executor& executor) {
  if (chunk.ids.size() > config.optimizer.max_segment_rows) {
    return fail(Code::kInvalidArgument,
                fmt::format("bulk chunk: {} points, at most {} fit a segment", chunk.ids.size(),
                            config.optimizer.max_segment_rows));
  }
  if (!config.text_vectors.empty()) {
    return fail(
        Code::kUnimplemented,
        fmt::format("bulk chunk: the collection makes the vectors `{}` of payloads, which a "
                    "bulk load does not; upsert the points",
                    config.text_vectors.begin()->first));
  }
  BulkRows rows;
  rows.data.n_rows = static_cast<std::uint32_t>(chunk.ids.size());
  rows.data.ids = borrow(chunk.ids);
  QV_TRY(rows.data.fields, make_fields(chunk, config, executor));
  QV_TRY(rows.data.documents, make_documents(chunk, executor));
  split(rows, config.shard_number);
  return rows;
}

void append_row(const SegmentData& data, std::uint32_t row, std::string& out) {
  append_row_head(data.seqs[row], data.documents[row], data.fields.size(), out);
  for (const auto& field : data.fields) {
    if (field.present[row] == 0) {
      append_absent(out);
      continue;
    }
    switch (field.schema.kind) {
      case FieldKind::kDense: {
        MatrixView rows = field.dense().rows();
        rows.data = rows.row(row);
        rows.n_rows = 1;
        append_tokens(rows, out);
        break;
      }
      case FieldKind::kSparse:
        append_sparse(field.sparse().row(row), out);
        break;
      case FieldKind::kMulti:
        append_tokens(field.multi().row(row), out);
        break;
    }
  }
}

}  // namespace quiver::engine
