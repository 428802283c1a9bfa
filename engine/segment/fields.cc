#include "engine/segment/fields.h"

#include <utility>

#include "base/check.h"
#include "engine/model/config.h"
#include "index/exact/searcher.h"
#include "index/exact/type.h"

namespace quiver::engine {
namespace {

/// Dropped fields keep no name: two dropped ones are alike to every reader.
bool is_emptied(const index::FieldColumn& column) {
  return column.n_present == 0 && is_dropped(column.schema);
}

void empty_field(SegmentData& data, std::size_t field, const FieldSchema& schema) {
  if (data.sealed && data.fields[field].n_present != 0) data.holds_dropped = true;
  data.fields[field] = absent_column(schema, data.n_rows);
  data.searchers[field] = std::make_shared<index::FlatSearcher>(data.fields[field]);
  data.indexes[field] = {&index::kFlat, {}};
  data.index_files[field] = nullptr;
}

}  // namespace

index::FieldColumn absent_column(const FieldSchema& schema, std::size_t n_rows) {
  index::FieldColumn column;
  column.schema = schema;
  column.n_rows = static_cast<std::uint32_t>(n_rows);
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(n_rows, 0));
  const index::DenseColumn none{{}, schema.dim, schema.dtype};
  switch (schema.kind) {
    case FieldKind::kDense:
      column.values = none;
      break;
    case FieldKind::kSparse:
      column.values = index::SparseColumn{};
      break;
    case FieldKind::kMulti:
      column.values = index::MultiColumn{{}, none};
      break;
  }
  return column;
}

bool follows(const SegmentData& data, const std::vector<FieldSchema>& fields) {
  if (data.fields.size() != fields.size()) return false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (is_dropped(fields[i]) && !is_emptied(data.fields[i])) return false;
  }
  return true;
}

std::shared_ptr<const SegmentData> with_fields(std::shared_ptr<const SegmentData> data,
                                               const std::vector<FieldSchema>& fields) {
  if (follows(*data, fields)) return data;
  QV_CHECK(data->fields.size() <= fields.size());
  auto changed = std::make_shared<SegmentData>(*data);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i == changed->fields.size()) {
      auto column = absent_column(fields[i], data->n_rows);
      auto exact = std::make_shared<index::FlatSearcher>(column);
      changed->add_field(std::move(column), std::move(exact), &index::kFlat);
    } else if (is_dropped(fields[i]) && !is_emptied(changed->fields[i])) {
      empty_field(*changed, i, fields[i]);
    }
  }
  return changed;
}

}  // namespace quiver::engine
