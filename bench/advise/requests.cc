// The requests that make a collection as advised.
#include "base/schema_names.h"
#include "bench/advise/report.h"
#include "bench/ann/report.h"
#include "service/json/writer.h"

namespace quiver::bench::advise {
namespace {

using service::json::Writer;

void write_field(Writer& json, const Advice& advice, const MeasuredWay& way) {
  json.begin_object();
  json.member("size", std::uint64_t{advice.schema.dim});
  json.member("distance", distance_name(advice.schema.metric));
  json.member("datatype", datatype_name(way.way.dtype));
  const bool has_index = way.way.index.type != "flat";
  if (!has_index) json.key("hnsw_config"), json.raw(R"({"m":0})");
  if (has_index && way.below_minimum) {
    json.key("hnsw_config"), json.raw(R"({"full_scan_threshold":1})");
  }
  json.end_object();
}

std::string create_body(const Advice& advice, const MeasuredWay& way) {
  std::string body;
  Writer json(body);
  json.begin_object();
  json.key("vectors");
  const std::string& field = advice.schema.name;
  if (!field.empty()) json.begin_object(), json.escaped_key(field);
  write_field(json, advice, way);
  if (!field.empty()) json.end_object();
  json.end_object();
  return body;
}

std::string indexes_body(const Advice& advice, const IndexWay& index) {
  if (index.build.empty() && index.type != "osq") return "";
  KeyValues values = index.build;
  if (index.type == "osq") values.emplace("type", index.type);
  std::string body;
  Writer json(body);
  json.begin_object();
  json.key("build");
  json.begin_object();
  write_params(json, advice.schema.name, values);
  json.end_object();
  json.end_object();
  return body;
}

}  // namespace

Requests requests_of(const Advice& advice, const Point& point) {
  const MeasuredWay& way = advice.ways[point.way];
  Requests requests{create_body(advice, way), indexes_body(advice, way.way.index), ""};
  const KeyValues& params = way.efforts[point.effort].params;
  if (params.empty()) return requests;
  Writer json(requests.search);
  json.begin_object();
  write_params(json, way.way.index.type, params);
  json.end_object();
  return requests;
}

}  // namespace quiver::bench::advise
