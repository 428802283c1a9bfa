#include "engine/segment/mutable_segment.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "engine/segment/columns.h"
#include "engine/segment/fields.h"
#include "index/exact/searcher.h"
#include "index/exact/type.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

const StoredVector kAbsent;

}  // namespace

MutableSegment::FieldBuffer::FieldBuffer(FieldSchema field)
    : schema(std::move(field)), dropped(is_dropped(schema)) {
  offsets.append(0);
}

std::size_t MutableSegment::FieldBuffer::append(const StoredVector& vector) {
  const bool here = is_present(vector);
  QV_CHECK(!(here && dropped));
  present.append(here ? 1 : 0);
  if (dropped) return 0;
  n_present += here ? 1 : 0;
  const std::size_t before = rows.size() + indices.size() * 8;
  if (const auto* tokens = std::get_if<Tokens>(&vector)) append_tokens(*tokens);
  if (const auto* sparse = std::get_if<SparseVector>(&vector)) {
    indices.append(std::span<const std::uint32_t>(sparse->indices));
    values.append(std::span<const float>(sparse->values));
  }
  if (schema.kind == FieldKind::kDense && !here) {
    rows.append_zeros(padded_row_bytes(schema.dim, schema.dtype));
  }
  if (schema.kind == FieldKind::kSparse) {
    offsets.append(indices.size());
    if (present.size() % index::sparse::GrowingLists::kStep == 0) lists.extend(view());
  }
  if (schema.kind == FieldKind::kMulti) {
    offsets.append(rows.size() / padded_row_bytes(schema.dim, schema.dtype));
  }
  return rows.size() + indices.size() * 8 - before;
}

void MutableSegment::FieldBuffer::append_tokens(const Tokens& tokens) {
  const std::size_t row_bytes = vector_bytes(schema.dim, schema.dtype);
  const std::size_t stride = padded_row_bytes(schema.dim, schema.dtype);
  std::byte* out = rows.append_zeros(tokens.n_tokens * stride);
  for (std::uint32_t t = 0; t < tokens.n_tokens; ++t) {
    std::memcpy(out + t * stride, tokens.bytes.data() + t * row_bytes, row_bytes);
  }
}

index::FieldColumn MutableSegment::FieldBuffer::view() const {
  if (dropped) {
    index::FieldColumn absent = absent_column(schema, 0);
    absent.n_rows = static_cast<std::uint32_t>(present.size());
    absent.present = present.view();
    return absent;
  }
  index::FieldColumn column;
  column.schema = schema;
  column.n_rows = static_cast<std::uint32_t>(present.size());
  column.present = present.view();
  column.n_present = n_present;
  const index::DenseColumn dense{rows.view(), schema.dim, schema.dtype};
  switch (schema.kind) {
    case FieldKind::kDense:
      column.values = dense;
      break;
    case FieldKind::kMulti:
      column.values = index::MultiColumn{offsets.view(), dense};
      break;
    case FieldKind::kSparse:
      column.values = index::SparseColumn{offsets.view(), indices.view(), values.view()};
      break;
  }
  return column;
}

std::shared_ptr<const index::Searcher> MutableSegment::FieldBuffer::searcher(
    index::FieldColumn column) const {
  if (schema.kind == FieldKind::kSparse && !dropped) return lists.searcher(std::move(column));
  return std::make_shared<index::FlatSearcher>(std::move(column));
}

MutableSegment::MutableSegment(std::uint64_t id, const std::vector<FieldSchema>& fields,
                               const std::vector<payload::FieldIndex>& indexes)
    : id_(id),
      id_table_(std::make_shared<IdTable>(64)),
      attributes_(std::make_shared<payload::GrowingAttributes>()) {
  document_offsets_.append(0);
  for (const auto& field : fields) fields_.emplace_back(field);
  for (const auto& index : indexes) add_index(index);
}

bool MutableSegment::follows(const std::vector<FieldSchema>& fields) const {
  return std::equal(fields.begin(), fields.end(), fields_.begin(), fields_.end(),
                    [](const FieldSchema& schema, const FieldBuffer& buffer) {
                      return is_dropped(schema) == buffer.dropped;
                    });
}

void MutableSegment::append(const Row& row) {
  QV_CHECK(row.vectors.size() <= fields_.size());
  ids_.append(row.id);
  seqs_.append(row.seq);
  first_seq_ = std::min(first_seq_, row.seq);
  documents_.append(std::as_bytes(std::span(row.payload)));
  document_offsets_.append(documents_.size());
  data_bytes_ += row.payload.size();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const bool has_place = i < row.vectors.size() && !fields_[i].dropped;
    data_bytes_ += fields_[i].append(has_place ? row.vectors[i] : kAbsent);
  }
  if (!columns_.empty()) {
    const auto document = payload::parse_json(row.payload);
    QV_CHECK(document.has_value());
    for (auto& [key, column] : columns_) column->add_row(*document);
  }
  insert_id(row.id);
}

void MutableSegment::insert_id(const PointId& id) {
  const std::uint32_t row = n_rows() - 1;
  if (row >= id_table_->capacity()) {
    auto larger = std::make_shared<IdTable>(id_table_->capacity() * 2);
    for (std::uint32_t i = 0; i < row; ++i) larger->insert(ids_.span()[i], i);
    id_table_ = std::move(larger);
  }
  id_table_->insert(id, row);
}

void MutableSegment::add_index(const payload::FieldIndex& index) {
  auto created = payload::MutableColumn::create(index);
  QV_CHECK(created.has_value());  // its key was parsed when the index was declared
  auto column = *std::move(created);
  const auto offsets = document_offsets_.span();
  const std::string_view text(reinterpret_cast<const char*>(documents_.span().data()),
                              documents_.size());
  for (std::uint32_t row = 0; row < n_rows(); ++row) {
    const auto document =
        payload::parse_json(text.substr(offsets[row], offsets[row + 1] - offsets[row]));
    QV_CHECK(document.has_value());
    column->add_row(*document);
  }
  columns_[index.key] = std::move(column);
}

void MutableSegment::set_indexes(const std::vector<payload::FieldIndex>& indexes) {
  std::erase_if(columns_, [&](const auto& entry) {
    const auto* wanted = find_index(indexes, entry.first);
    return wanted == nullptr || !same_column(*wanted, entry.second->index());
  });
  for (const auto& index : indexes) {
    if (!columns_.contains(index.key)) add_index(index);
  }
}

std::shared_ptr<const SegmentData> MutableSegment::snapshot() const {
  auto data = std::make_shared<SegmentData>();
  data->id = id_;
  data->n_rows = n_rows();
  data->ids = ids_.view();
  data->seqs = seqs_.view();
  data->documents = {document_offsets_.view(), documents_.view()};
  for (const auto& field : fields_) {
    auto column = field.view();
    auto searcher = field.searcher(column);
    data->add_field(std::move(column), std::move(searcher), &index::kFlat);
  }
  for (const auto& [key, column] : columns_) data->columns.emplace(key, column->view());
  data->id_table = id_table_;
  data->growing_attributes = attributes_;
  return data;
}

}  // namespace quiver::engine
