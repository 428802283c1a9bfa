#include "tests/model/bulk_input.h"

namespace quiver::model {

OwnedChunk::OwnedChunk(const engine::CollectionConfig& config,
                       std::vector<engine::PointInput> points, std::optional<std::string> cursor)
    : points_(std::move(points)), cursor_(std::move(cursor)) {
  for (const auto& schema : config.fields) {
    if (engine::is_dropped(schema)) continue;
    // The offsets do not begin at 0, as in a slice of a larger array.
    Field field{schema, {}, {}, {}, {}};
    if (schema.kind == FieldKind::kSparse) field.indices.assign(3, 7);
    if (schema.kind == FieldKind::kSparse) field.values.assign(3, 1.0F);
    if (schema.kind == FieldKind::kMulti) field.values.assign(2 * schema.dim, 1.0F);
    field.offsets.push_back(schema.kind == FieldKind::kSparse ? 3 : 2);
    fields_.push_back(std::move(field));
  }
  for (const auto& point : points_) {
    ids_.push_back(point.id);
    payloads_.emplace_back(point.payload);
    for (Field& field : fields_) add(field, point);
  }
}

void OwnedChunk::add(Field& field, const engine::PointInput& point) {
  const engine::VectorValue* value = nullptr;
  for (const auto& vector : point.vectors) {
    if (vector.name == field.schema.name) value = &vector.value;
  }
  field.present.push_back(value == nullptr ? 0 : 1);
  const auto append = [&](const std::vector<float>& values) {
    field.values.insert(field.values.end(), values.begin(), values.end());
  };
  switch (field.schema.kind) {
    case FieldKind::kDense:
      append(value == nullptr ? std::vector<float>(field.schema.dim)
                              : std::get<engine::DenseVector>(*value));
      break;
    case FieldKind::kSparse:
      if (value != nullptr) {
        const auto& sparse = std::get<engine::SparseVector>(*value);
        field.indices.insert(field.indices.end(), sparse.indices.begin(), sparse.indices.end());
        append(sparse.values);
      }
      field.offsets.push_back(field.indices.size());
      break;
    case FieldKind::kMulti:
      if (value != nullptr) append(std::get<engine::MultiVector>(*value).values);
      field.offsets.push_back(field.values.size() / field.schema.dim);
      break;
  }
}

engine::BulkChunk OwnedChunk::view() const {
  engine::BulkChunk chunk;
  chunk.ids = ids_;
  chunk.payloads = payloads_;
  chunk.cursor = cursor_;
  for (const Field& field : fields_) {
    engine::BulkField given{field.schema.name, engine::DenseRows{field.values}, field.present};
    if (field.schema.kind == FieldKind::kSparse) {
      given.rows = engine::SparseRows{field.offsets, field.indices, field.values};
    }
    if (field.schema.kind == FieldKind::kMulti) {
      given.rows = engine::MultiRows{field.offsets, field.values};
    }
    chunk.fields.push_back(std::move(given));
  }
  return chunk;
}

}  // namespace quiver::model
