#include "bench/load/bodies.h"

#include <utility>

#include "service/json/writer.h"

namespace quiver::bench {

using service::json::Writer;

namespace {

void write_sparse(Writer& json, const dataset::VectorBatch& batch, std::size_t i) {
  json.begin_object();
  json.key("indices");
  json.begin_array();
  for (std::uint64_t at = batch.offsets[i]; at < batch.offsets[i + 1]; ++at) {
    json.u64(batch.indices[at]);
  }
  json.end_array();
  json.key("values");
  const std::uint64_t n = batch.offsets[i + 1] - batch.offsets[i];
  json.floats(std::span(batch.values).subspan(batch.offsets[i], n));
  json.end_object();
}

void write_vector(Writer& json, const dataset::Vectors& vectors, std::size_t i) {
  const dataset::VectorBatch& batch = vectors.batch;
  const std::span<const float> values(batch.values);
  const std::size_t dim = vectors.shape.dim;
  switch (vectors.shape.kind) {
    case FieldKind::kDense:
      return json.floats(values.subspan(i * dim, dim));
    case FieldKind::kSparse:
      return write_sparse(json, batch, i);
    case FieldKind::kMulti:
      json.begin_array();
      for (std::uint64_t token = batch.offsets[i]; token < batch.offsets[i + 1]; ++token) {
        json.floats(values.subspan(token * dim, dim));
      }
      return json.end_array();
  }
}

}  // namespace

std::string query_body(const LoadOptions& options, const dataset::Vectors& queries, std::size_t i) {
  std::string body;
  Writer json(body);
  json.begin_object();
  json.key("query");
  write_vector(json, queries, i);
  json.member("limit", std::uint64_t{options.k});
  if (!options.vector_name.empty()) json.member("using", options.vector_name);
  if (!options.params.empty()) json.key("params"), json.raw(options.params);
  if (!options.filter.empty()) json.key("filter"), json.raw(options.filter);
  if (options.with_payload) json.member("with_payload", true);
  json.end_object();
  return body;
}

std::string query_request(const client::Endpoint& endpoint, const LoadOptions& options,
                          const dataset::Vectors& queries, std::size_t i) {
  const std::string target =
      "/collections/" + client::escape_segment(options.collection) + "/points/query";
  return client::request_text("POST", target, endpoint, options.api_key,
                              query_body(options, queries, i));
}

void UpsertBody::add(std::uint64_t id, std::span<const float> vector, std::string_view payload) {
  text_ += text_.empty() ? R"({"points":[)" : ",";
  Writer json(text_);
  json.begin_object();
  json.member("id", id);
  json.key("vector");
  if (vector_name_.empty()) {
    json.floats(vector);
  } else {
    json.begin_object();
    json.escaped_key(vector_name_);
    json.floats(vector);
    json.end_object();
  }
  if (!payload.empty()) json.key("payload"), json.raw(payload);
  json.end_object();
}

std::string UpsertBody::finish() {
  if (text_.empty()) text_ = R"({"points":[)";
  text_ += "]}";
  return std::exchange(text_, {});
}

}  // namespace quiver::bench
