#include "app/import/http/body.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <variant>
#include <vector>

#include "kernels/kernels.h"
#include "service/json/encode/encode.h"
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

/// True if the tokens of row `i` precede the JSON. A vector that is present but has no tokens goes
/// into the JSON, and the server refuses it.
bool has_tokens(const VectorColumn& column, std::size_t i) {
  return column.kind == FieldKind::kMulti && column.present[i] != 0 && n_tokens(column, i) > 0;
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

/// Writes an object of all vectors by name. The API accepts "" as the name of the unnamed vector.
void write_vectors(Writer& json, const RowBlock& block, const RowPoint& point) {
  const std::size_t i = point.column_row;
  json.begin_object();
  for (const VectorColumn& column : block.columns) {
    if (column.present[i] == 0 || has_tokens(column, i)) continue;
    json.escaped_key(column.name);
    write_value(json, column, i);
  }
  for (const engine::NamedVector& vector : point.vectors) {
    json.escaped_key(vector.name);
    std::visit(WriteValue{json}, vector.value);
  }
  json.end_object();
}

template <class T>
void append(const T& value, std::string& body) {
  body.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// Appends `values` converted to `type`, which holds them exactly.
void append_values(std::span<const float> values, DType type, std::string& body) {
  const std::size_t begin = body.size();
  body.resize(begin + values.size() * bytes_per_value(type));
  char* out = body.data() + begin;
  if (type == DType::kF32) {
    std::memcpy(out, values.data(), values.size_bytes());
  } else if (type == DType::kU8) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      out[i] = static_cast<char>(static_cast<std::uint8_t>(values[i]));
    }
  } else {
    std::vector<std::uint16_t> halves(values.size());
    kernels().convert.f32_to_f16(values.data(), values.size(), halves.data());
    std::memcpy(out, halves.data(), halves.size() * sizeof(std::uint16_t));
  }
}

void append_header(const VectorColumn& column, std::uint64_t n_points, std::uint64_t n_tokens,
                   std::string& body) {
  constexpr std::uint32_t kVersion = 1;
  constexpr std::uint32_t kPointsFollow = 4;
  body += "QVRAGGED";
  append(kVersion, body);
  append(static_cast<std::uint32_t>(column.type), body);
  append(column.dim, body);
  append(kPointsFollow, body);
  append(n_points, body);
  append(n_tokens, body);
}

/// Appends the matrix format of docs/late-interaction.md.
void append_tokens(const VectorColumn& column, std::span<const RowPoint> points,
                   std::string& body) {
  std::vector<std::uint64_t> offsets = {0};
  for (const RowPoint& point : points) {
    const std::size_t i = point.column_row;
    offsets.push_back(offsets.back() + (has_tokens(column, i) ? n_tokens(column, i) : 0));
  }
  append_header(column, points.size(), offsets.back(), body);
  for (const std::uint64_t offset : offsets) append(offset, body);
  for (const RowPoint& point : points) {
    if (!has_tokens(column, point.column_row)) continue;
    append_values(multi_row(column, point.column_row), column.type, body);
  }
  body.resize((body.size() + 7) / 8 * 8);
}

void append_points(const RowBlock& block, std::span<const RowPoint> points, std::string& body) {
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

}  // namespace

std::vector<std::string> token_fields(const RowBlock& block) {
  std::vector<std::string> names;
  for (const VectorColumn& column : block.columns) {
    if (column.kind == FieldKind::kMulti) names.push_back(column.name);
  }
  return names;
}

void write_upsert(const RowBlock& block, std::span<const RowPoint> points, std::string& body) {
  body.clear();
  for (const VectorColumn& column : block.columns) {
    if (column.kind == FieldKind::kMulti) append_tokens(column, points, body);
  }
  append_points(block, points, body);
}

}  // namespace quiver::app
