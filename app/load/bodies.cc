#include "app/load/bodies.h"

#include <utility>

#include "service/json/writer.h"

namespace quiver::app {

using service::json::Writer;

std::string query_body(const LoadOptions& options, std::span<const float> vector) {
  std::string body;
  Writer json(body);
  json.begin_object();
  json.key("query");
  json.floats(vector);
  json.member("limit", std::uint64_t{options.k});
  if (!options.vector_name.empty()) json.member("using", options.vector_name);
  if (!options.params.empty()) json.key("params"), json.raw(options.params);
  if (!options.filter.empty()) json.key("filter"), json.raw(options.filter);
  if (options.with_payload) json.member("with_payload", true);
  json.end_object();
  return body;
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

}  // namespace quiver::app
