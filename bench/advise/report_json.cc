// The advice as one JSON object. docs/embeddings-storage.md explains the keys.
#include <algorithm>

#include "base/schema_names.h"
#include "bench/advise/report.h"
#include "bench/ann/report.h"
#include "bench/common/machine.h"
#include "kernels/kernels.h"
#include "service/json/writer.h"

namespace quiver::bench::advise {
namespace {

using service::json::Writer;

void write_optional(Writer& json, std::string_view name, std::optional<double> value) {
  json.key(name);
  value ? json.f64(*value) : json.null();
}

void write_way(Writer& json, const Way& way) {
  json.member("datatype", datatype_name(way.dtype));
  json.member("index", std::string_view(way.index.type));
  write_params(json, "build", way.index.build);
}

void write_effort(Writer& json, const MeasuredEffort& effort) {
  write_params(json, "params", effort.params);
  json.member("recall", effort.recall);
  json.member("recall_p5", effort.recall_p5);
  json.member("qps", effort.qps);
  json.member("p95_us", effort.p95_us);
}

void write_bytes(Writer& json, const MeasuredWay& way) {
  json.member("bytes", way.bytes());
  json.member("row_bytes", way.row_bytes);
  json.member("index_bytes", way.index_bytes);
  json.member("disk_bytes", way.disk_bytes);
}

void write_measured(Writer& json, const MeasuredWay& way, bool is_on_front) {
  json.begin_object();
  write_way(json, way.way);
  json.member("rows", way.n_rows);
  json.member("pareto", is_on_front);
  write_bytes(json, way);
  json.member("build_s", way.build_s);
  json.key("efforts");
  json.begin_array();
  for (const auto& effort : way.efforts) {
    json.begin_object();
    write_effort(json, effort);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_data(Writer& json, const Advice& advice) {
  json.member("data", std::string_view(advice.data));
  json.member("metric", metric_name(advice.schema.metric));
  json.member("dim", std::uint64_t{advice.schema.dim});
  json.member("rows", std::uint64_t{advice.n_rows});
  json.member("sample", std::uint64_t{advice.n_sample});
  json.member("queries", std::uint64_t{advice.n_queries});
  json.member("held_out", advice.held_out);
  json.member("k", std::uint64_t{advice.k});
  json.member("cpu", cpu_name());
  json.member("isa", kernels().name);
  json.member("seconds", advice.seconds);
  json.key("limits");
  json.begin_object();
  write_optional(json, "recall", advice.limits.recall);
  write_optional(json, "max_bytes", advice.limits.bytes);
  json.member("min_qps", advice.limits.qps);
  json.end_object();
}

void write_best(Writer& json, const Advice& advice) {
  const Point best = best_point(advice);
  const MeasuredWay& way = advice.ways[best.way];
  json.key("advised");
  json.begin_object();
  json.member("meets_limits", meets(best, advice.limits));
  write_way(json, way.way);
  write_effort(json, way.efforts[best.effort]);
  write_bytes(json, way);
  const Requests requests = requests_of(advice, best);
  json.key("create"), json.raw(requests.create);
  json.key("indexes"), json.raw(requests.indexes.empty() ? "null" : requests.indexes);
  json.key("search_params"), json.raw(requests.search.empty() ? "null" : requests.search);
  json.end_object();
}

void write_refused(Writer& json, const Advice& advice) {
  json.key("refused");
  json.begin_array();
  for (const Refused& refused : advice.refused) {
    json.begin_object();
    json.member("datatype", datatype_name(refused.dtype));
    json.member("reason", std::string_view(refused.reason));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string to_json(const Advice& advice) {
  std::string out;
  Writer json(out);
  json.begin_object();
  write_data(json, advice);
  write_best(json, advice);
  const auto front = front_of(advice);
  json.key("ways");
  json.begin_array();
  for (std::size_t way = 0; way < advice.ways.size(); ++way) {
    write_measured(json, advice.ways[way], std::ranges::find(front, way) != front.end());
  }
  json.end_array();
  json.key("sampled");
  json.begin_array();
  for (const auto& way : advice.sampled) write_measured(json, way, false);
  json.end_array();
  write_refused(json, advice);
  json.end_object();
  return out + "\n";
}

}  // namespace quiver::bench::advise
