// Ids, vectors and selections.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "payload/scalar/datetime.h"
#include "service/grpc/messages/decode.h"
#include "service/grpc/messages/timestamp.h"
#include "service/grpc/messages/values.h"
#include "service/json/decode/decode.h"
#include "service/json/request_rules.h"

namespace quiver::service::rpc {
namespace {

using engine::VectorValue;
using Floats = google::protobuf::RepeatedField<float>;

Decoded<> check_finite(const Floats& values, const Path& path) {
  for (int i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) [[likely]]
      continue;
    return format_error(
        path.item(static_cast<std::size_t>(i)),
        fmt::format("invalid type: floating point `{}`, expected a finite 32-bit float",
                    values[i]));
  }
  return {};
}

Decoded<VectorValue> decode_dense(const Floats& values, const Path& path) {
  QV_TRY(check_finite(values, path));
  return VectorValue(engine::DenseVector(values.begin(), values.end()));
}

Decoded<VectorValue> decode_sparse(const google::protobuf::RepeatedField<std::uint32_t>& indices,
                                   const Floats& values, const Path& path) {
  QV_TRY(check_finite(values, path.member("values")));
  engine::SparseVector sparse;
  sparse.indices.assign(indices.begin(), indices.end());
  sparse.values.assign(values.begin(), values.end());
  QV_TRY(json::finish_sparse(sparse, path));
  return VectorValue(std::move(sparse));
}

Decoded<VectorValue> decode_multi(const qdrant::MultiDenseVector& vectors, const Path& path) {
  engine::MultiVector multi;
  for (const auto& row : vectors.vectors()) {
    QV_TRY(json::add_row(multi, static_cast<std::size_t>(row.data_size()), path));
    QV_TRY(check_finite(row.data(), path.item(multi.n_tokens - 1)));
    multi.values.insert(multi.values.end(), row.data().begin(), row.data().end());
  }
  return VectorValue(std::move(multi));
}

/// `data` holds `n_rows` vectors of equal length.
Decoded<VectorValue> decode_flat_multi(const Floats& data, std::uint32_t n_rows, const Path& path) {
  const auto size = static_cast<std::uint32_t>(data.size());
  if (n_rows == 0 || size == 0 || size % n_rows != 0) {
    return validation_error(path.member("data"),
                            fmt::format("{} values are no {} vectors of one length", size, n_rows));
  }
  QV_TRY(check_finite(data, path.member("data")));
  engine::MultiVector multi;
  multi.n_tokens = n_rows;
  multi.dim = size / n_rows;
  multi.values.assign(data.begin(), data.end());
  return VectorValue(std::move(multi));
}

tl::unexpected<ApiError> no_inference(const Path& path) {
  return wrong_input(fmt::format(
      "{}: inference is not available for images and objects, send their vectors instead",
      path.to_string()));
}

Decoded<VectorValue> vector_of(const qdrant::Document& document, const Path& path,
                               payload::TokenUse use) {
  QV_TRY(std::string options, to_json(document.options(), path.member("options")));
  return json::vector_of_text(document.text(), document.model(), options, path, use);
}

tl::unexpected<ApiError> missing(const Path& path, std::string_view what) {
  return format_error(path, fmt::format("missing {}", what));
}

Decoded<VectorValue> not_empty(Decoded<VectorValue> decoded, const Path& path) {
  if (!decoded) return decoded;
  const auto* dense = std::get_if<engine::DenseVector>(&*decoded);
  if (dense != nullptr && dense->empty()) {
    return validation_error(path.member("vector"), "dense vector must not be empty");
  }
  return decoded;
}

Decoded<std::vector<payload::JsonPath>> decode_paths(const Strings& texts, const Path& path) {
  std::vector<payload::JsonPath> paths;
  for (const auto& text : texts) {
    auto parsed = payload::JsonPath::parse(text);
    if (!parsed) return format_error(path.item(paths.size()), parsed.error().message());
    paths.push_back(*std::move(parsed));
  }
  return paths;
}

Decoded<payload::Number> decode_start(const qdrant::StartFrom& start, const Path& path) {
  switch (start.value_case()) {
    case qdrant::StartFrom::kFloat:
      return payload::Number(start.float_());
    case qdrant::StartFrom::kInteger:
      return payload::Number(static_cast<std::int64_t>(start.integer()));
    case qdrant::StartFrom::kTimestamp:
      return payload::Number(microseconds(start.timestamp()));
    case qdrant::StartFrom::kDatetime:
      if (const auto time = payload::parse_datetime(start.datetime())) {
        return payload::Number(*time);
      }
      return format_error(
          path, fmt::format("invalid type: string \"{}\", expected a datetime", start.datetime()));
    case qdrant::StartFrom::VALUE_NOT_SET:
      break;
  }
  return missing(path, "number or datetime");
}

}  // namespace

Decoded<PointId> decode_id(const qdrant::PointId& id, const Path& path) {
  if (id.has_num()) return PointId::number(id.num());
  if (id.has_uuid()) {
    if (const auto uuid = PointId::parse_uuid(id.uuid())) return *uuid;
    return format_error(
        path, fmt::format("value \"{}\" is not a valid point ID, valid values are either an "
                          "unsigned integer or a UUID",
                          id.uuid()));
  }
  return missing(path, "point ID, a number or a UUID");
}

Decoded<std::vector<PointId>> decode_ids(const PointIds& ids, const Path& path) {
  std::vector<PointId> decoded;
  decoded.reserve(static_cast<std::size_t>(ids.size()));
  for (const auto& id : ids) {
    QV_TRY(const PointId one, decode_id(id, path.item(decoded.size())));
    decoded.push_back(one);
  }
  return decoded;
}

Decoded<payload::Selector> decode_with_payload(const qdrant::WithPayloadSelector& selector,
                                               const Path& path) {
  using payload::Selector;
  if (selector.has_include()) {
    QV_TRY(auto paths, decode_paths(selector.include().fields(), path.member("include")));
    return Selector::include(std::move(paths));
  }
  if (selector.has_exclude()) {
    QV_TRY(auto paths, decode_paths(selector.exclude().fields(), path.member("exclude")));
    return Selector::exclude(std::move(paths));
  }
  return selector.enable() ? Selector::all() : Selector::none();
}

engine::VectorSelector decode_with_vectors(const qdrant::WithVectorsSelector& selector) {
  engine::VectorSelector decoded;
  decoded.all = selector.has_enable() && selector.enable();
  const auto& names = selector.include().names();
  decoded.names.assign(names.begin(), names.end());
  return decoded;
}

Decoded<engine::OrderBy> decode_order_by(const qdrant::OrderBy& order, const Path& path) {
  engine::OrderBy decoded;
  decoded.key = order.key();
  decoded.descending = order.direction() == qdrant::Desc;
  if (order.has_start_from()) {
    QV_TRY(decoded.start_from, decode_start(order.start_from(), path.member("start_from")));
  }
  return decoded;
}

Decoded<engine::QueryVector> decode_query_vector(const qdrant::VectorInput& input,
                                                 const Path& path) {
  switch (input.variant_case()) {
    case qdrant::VectorInput::kId: {
      QV_TRY(const PointId id, decode_id(input.id(), path));
      return engine::QueryVector(id);
    }
    case qdrant::VectorInput::kDense: {
      QV_TRY(auto dense, decode_dense(input.dense().data(), path));
      return engine::QueryVector(std::move(dense));
    }
    case qdrant::VectorInput::kSparse: {
      const auto& sparse = input.sparse();
      QV_TRY(auto decoded, decode_sparse(sparse.indices(), sparse.values(), path));
      return engine::QueryVector(std::move(decoded));
    }
    case qdrant::VectorInput::kMultiDense: {
      QV_TRY(auto multi, decode_multi(input.multi_dense(), path));
      return engine::QueryVector(std::move(multi));
    }
    case qdrant::VectorInput::kDocument: {
      QV_TRY(auto vector, vector_of(input.document(), path, payload::TokenUse::kQuery));
      return engine::QueryVector(std::move(vector));
    }
    case qdrant::VectorInput::kImage:
    case qdrant::VectorInput::kObject:
      return no_inference(path);
    case qdrant::VectorInput::VARIANT_NOT_SET:
      break;
  }
  return missing(path, "vector or point ID");
}

Decoded<VectorValue> decode_flat_vector(const Floats& values, const qdrant::SparseIndices* indices,
                                        const Path& path) {
  if (indices != nullptr) return decode_sparse(indices->data(), values, path);
  return decode_dense(values, path);
}

Decoded<VectorValue> decode_vector(const qdrant::Vector& vector, const Path& path) {
  switch (vector.vector_case()) {
    case qdrant::Vector::kDense:
      return not_empty(decode_dense(vector.dense().data(), path), path);
    case qdrant::Vector::kSparse:
      return decode_sparse(vector.sparse().indices(), vector.sparse().values(), path);
    case qdrant::Vector::kMultiDense:
      return decode_multi(vector.multi_dense(), path);
    case qdrant::Vector::kDocument:
      return vector_of(vector.document(), path, payload::TokenUse::kDocument);
    case qdrant::Vector::kImage:
    case qdrant::Vector::kObject:
      return no_inference(path);
    case qdrant::Vector::VECTOR_NOT_SET:
      break;
  }
  if (vector.has_vectors_count()) {
    return decode_flat_multi(vector.data(), vector.vectors_count(), path);
  }
  const auto* indices = vector.has_indices() ? &vector.indices() : nullptr;
  return not_empty(decode_flat_vector(vector.data(), indices, path), path);
}

Decoded<std::vector<engine::NamedVector>> decode_vectors(const qdrant::Vectors& vectors,
                                                         const Path& path) {
  std::vector<engine::NamedVector> decoded;
  if (vectors.has_vector()) {
    QV_TRY(auto value, decode_vector(vectors.vector(), path));
    decoded.push_back({"", std::move(value)});
    return decoded;
  }
  const Path any_name = path.member("?");
  for (const auto& [name, vector] : vectors.vectors().vectors()) {
    QV_TRY(auto value, decode_vector(vector, any_name));
    decoded.push_back({name, std::move(value)});
  }
  std::sort(decoded.begin(), decoded.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return decoded;
}

Decoded<> check_positive(std::uint64_t value, const Path& path) {
  if (value > 0) return {};
  return validation_error(path, "value 0 invalid, must be 1 or larger");
}

}  // namespace quiver::service::rpc
