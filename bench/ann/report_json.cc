// One JSON object per point. Tools may rely on the keys up to `disturbed`; the others add detail.
// docs/benchmarks.md explains each key.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "base/schema_names.h"
#include "bench/ann/report.h"
#include "bench/common/statistics.h"
#include "kernels/kernels.h"
#include "service/json/writer.h"

namespace quiver::bench {
namespace {

using service::json::Writer;

/// Rounds to three decimals: finer than any clock here.
double rounded(double value) { return std::round(value * 1000) / 1000; }

void write_cost(Writer& json, const RunFacts& facts) {
  const auto n = static_cast<double>(facts.n_rows);
  const auto& cost = facts.cost;
  json.member("build_s", rounded(cost.seconds));
  json.key("build_peak_bytes");
  cost.peak_bytes ? json.u64(*cost.peak_bytes) : json.null();
  const auto index_bytes = cost.memory.heap_bytes + cost.memory.mapped_bytes;
  json.member("bytes_per_vector", rounded(static_cast<double>(index_bytes) / n));
  json.member("exact_bytes_per_vector", rounded(static_cast<double>(facts.exact_bytes) / n));
}

void write_rates(Writer& json, const MeasuredPoint& point) {
  json.member("qps", rounded(median(point.qps)));
  json.member("p50_us", rounded(point.p50_us));
  json.member("p95_us", rounded(point.p95_us));
  json.member("p99_us", rounded(point.p99_us));
  json.member("cpu_us", rounded(point.cpu_us));
}

void write_details(Writer& json, const RunFacts& facts, const MeasuredPoint& point) {
  json.member("p999_us", rounded(point.p999_us));
  json.member("qps_spread", rounded(spread(point.qps)));
  json.key("qps_repeats");
  json.begin_array();
  for (const double qps : point.qps) json.f64(rounded(qps));
  json.end_array();
  json.member("cpu_share", rounded(point.cpu_share));
  json.member("threads", std::uint64_t{facts.method.threads});
  json.member("batch", std::uint64_t{facts.method.batch});
  json.member("usable_cpus", std::uint64_t{n_usable_cpus()});
  json.member("kind", kind_name(facts.schema.kind));
  json.member("metric", metric_name(facts.schema.metric));
  json.member("dtype", dtype_name(facts.schema.dtype));
  json.member("dim", std::uint64_t{facts.schema.dim});
  json.member("rows", facts.n_rows);
  json.member("first_query", facts.first_query);
  json.member("queries", facts.n_queries);
  if (!facts.filter.empty()) {
    json.member("filter", std::string_view(facts.filter));
    json.member("selectivity", rounded(facts.selectivity));
  }
  json.member("build_file_bytes", facts.cost.file_bytes);
  json.member("better_than_truth", std::uint64_t{point.n_better_than_truth});
}

void write_work(Writer& json, const RunFacts& facts, const MeasuredPoint& point) {
  const auto per_query = [&](std::uint64_t n) {
    return rounded(static_cast<double>(n) / static_cast<double>(facts.n_queries));
  };
  json.key("work_per_query");
  json.begin_object();
  json.member("lists", per_query(point.work.n_lists));
  json.member("blocks", per_query(point.work.n_blocks));
  json.member("codes_scored", per_query(point.work.n_codes_scored));
  json.member("rows_scored", per_query(point.work.n_rows_scored));
  json.member("bytes", per_query(point.work.n_bytes));
  json.end_object();
}

}  // namespace

void write_params(Writer& json, std::string_view name, const KeyValues& params) {
  json.escaped_key(name);
  json.begin_object();
  for (const auto& [key, value] : params) {
    json.escaped_key(key);
    if (const auto* flag = std::get_if<bool>(&value)) json.boolean(*flag);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) json.i64(*integer);
    if (const auto* number = std::get_if<double>(&value)) json.f64(*number);
    if (const auto* text = std::get_if<std::string>(&value)) json.string(*text);
  }
  json.end_object();
}

std::string to_json(const RunFacts& facts, const MeasuredPoint& point) {
  std::string out;
  Writer json(out);
  json.begin_object();
  json.member("data", facts.data);
  json.member("index", facts.index);
  write_params(json, "params", point.params);
  json.member("k", std::uint64_t{facts.k});
  json.member("recall", point.recall.mean);
  json.member("recall_p5", point.recall.p5);
  json.member("short", std::uint64_t{point.recall.n_short});
  write_rates(json, point);
  write_cost(json, facts);
  json.member("commit", facts.commit);
  json.member("cpu", cpu_name());
  json.member("isa", kernels().name);
  json.member("date", fmt::format("{:%FT%TZ}", fmt::gmtime(point.unix_seconds)));
  json.member("disturbed", point.disturbed);
  write_params(json, "build_params", facts.build_params);
  write_details(json, facts, point);
  write_work(json, facts, point);
  write_calibration(json, "calibration_before", point.before);
  write_calibration(json, "calibration_after", point.after);
  json.end_object();
  return out;
}

}  // namespace quiver::bench
