#include "app/import/body.h"

#include <variant>

#include "service/json/encode.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

using service::json::Writer;

void write_sparse(Writer& json, const SparseRow& row) {
  json.begin_object();
  json.key("indices");
  json.begin_array();
  for (const std::uint32_t index : row.indices) json.u64(index);
  json.end_array();
  json.key("values");
  json.floats(row.values);
  json.end_object();
}

void write_multi(Writer& json, std::span<const float> values, std::size_t dim) {
  json.begin_array();
  for (std::size_t i = 0; i < values.size(); i += dim) json.floats(values.subspan(i, dim));
  json.end_array();
}

void write_value(Writer& json, const VectorColumn& column, std::size_t i) {
  switch (column.kind) {
    case FieldKind::kDense:
      return json.floats(dense_row(column, i));
    case FieldKind::kSparse:
      return write_sparse(json, sparse_row(column, i));
    case FieldKind::kMulti:
      return write_multi(json, multi_row(column, i), column.dim);
  }
}

struct WriteValue {
  Writer& json;
  void operator()(const engine::DenseVector& vector) const { json.floats(vector); }
  void operator()(const engine::SparseVector& vector) const {
    write_sparse(json, {vector.indices, vector.values});
  }
  void operator()(const engine::MultiVector& vector) const {
    write_multi(json, vector.values, vector.dim);
  }
};

/// An object of all of them by name; the unnamed one is called "" there, as the API allows.
void write_vectors(Writer& json, const RowBlock& block, const RowPoint& point) {
  const std::size_t i = point.column_row;
  json.begin_object();
  for (const VectorColumn& column : block.columns) {
    if (column.present[i] == 0) continue;
    json.escaped_key(column.name);
    write_value(json, column, i);
  }
  for (const engine::NamedVector& vector : point.vectors) {
    json.escaped_key(vector.name);
    std::visit(WriteValue{json}, vector.value);
  }
  json.end_object();
}

}  // namespace

void write_upsert(const RowBlock& block, std::span<const RowPoint> points, std::string& body) {
  body.clear();
  Writer json(body);
  json.begin_object();
  json.key("points");
  json.begin_array();
  for (const RowPoint& point : points) {
    json.begin_object();
    json.key("id");
    service::json::write_id(json, point.id);
    json.key("vector");
    write_vectors(json, block, point);
    if (!point.payload.empty()) json.key("payload"), json.raw(point.payload);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace quiver::app
