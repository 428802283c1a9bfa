#include "bench/load/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "bench/common/statistics.h"
#include "kernels/kernels.h"
#include "service/json/writer.h"

namespace quiver::bench {
namespace {

using service::json::Writer;

double per(double amount, double n) { return n > 0 ? amount / n : 0; }

/// The unit of rates: points of an ingest, else queries.
double n_units(const LoadReport& report) {
  return report.n_points > 0 ? static_cast<double>(report.n_points)
                             : static_cast<double>(report.loop.latencies_us.size());
}

bool is_disturbed(const LoadReport& report) {
  return deviates(report.calibration_after, report.calibration_before);
}

double rounded(double value) { return std::round(value * 100) / 100; }

std::string line(std::string_view name, const std::string& text) {
  return fmt::format("{:<15}{}\n", name, text);
}

std::string loop_name(const LoadOptions& options) {
  if (options.rate == 0) return "closed loop";
  return fmt::format("open loop at {:g} arrivals/s", options.rate);
}

std::string recall_text(const NetworkRecall& recall, const LoadOptions& options) {
  return fmt::format("{:.4f} @{} over {} queries{}", recall.mean, options.k, recall.n_queries,
                     recall.n_short > 0 ? fmt::format("; {} short answers", recall.n_short) : "");
}

std::string one_line(std::string json) {
  std::replace(json.begin(), json.end(), '\n', ' ');  // JSON allows line feeds only between tokens
  return json;
}

void write_subject(Writer& json, const LoadOptions& options) {
  json.member("data", options.data.empty() ? options.collection : options.data);
  json.member("index", "server");
  json.key("params");
  json.raw(options.params.empty() ? "{}" : one_line(options.params));
  json.member("k", std::uint64_t{options.k});
}

/// Writes nulls if no ground truth was given.
void write_recall(Writer& json, const std::optional<NetworkRecall>& recall) {
  json.key("recall");
  recall ? json.f64(recall->mean) : json.null();
  json.key("recall_p5");
  recall ? json.f64(recall->p5) : json.null();
  json.key("short");
  recall ? json.u64(recall->n_short) : json.null();
}

void write_rates(Writer& json, const LoadReport& report) {
  const LoopResult& loop = report.loop;
  const Percentiles p = percentiles(loop.latencies_us);
  json.member("qps", rounded(per(static_cast<double>(loop.latencies_us.size()), loop.seconds)));
  json.member("p50_us", rounded(p.p50));
  json.member("p95_us", rounded(p.p95));
  json.member("p99_us", rounded(p.p99));
  json.member("p999_us", rounded(p.p999));
  json.member("max_us", rounded(p.max));
  json.key("cpu_us");
  report.server_cpu_s ? json.f64(rounded(per(*report.server_cpu_s * 1e6, n_units(report))))
                      : json.null();
  json.member("background", report.background);
}

/// `commit` belongs to the server, all other members to the generator's machine.
void write_environment(Writer& json, const LoadReport& report) {
  json.member("commit", report.commit);
  json.member("cpu", cpu_name());
  json.member("isa", kernels().name);
  json.member("date", fmt::format("{:%FT%TZ}", fmt::gmtime(report.unix_seconds)));
  json.member("disturbed", is_disturbed(report));
  write_calibration(json, "calibration_before", report.calibration_before);
  write_calibration(json, "calibration_after", report.calibration_after);
}

void write_loop(Writer& json, const LoadReport& report, const LoadOptions& options) {
  const LoopResult& loop = report.loop;
  const double n = n_units(report);
  json.member("load", report.n_points > 0 ? "ingest" : "search");
  json.member("collection", options.collection);
  json.member("connections", std::uint64_t{options.connections});
  json.member("pipeline", std::uint64_t{options.pipeline});
  if (options.rate > 0) json.member("rate", options.rate);
  json.member("requests", std::uint64_t{loop.latencies_us.size()});
  json.member("errors", loop.n_errors);
  json.member("seconds", loop.seconds);
  if (!loop.waits_us.empty()) {
    const Percentiles wait = percentiles(loop.waits_us);
    json.member("wait_p50_us", rounded(wait.p50));
    json.member("wait_p99_us", rounded(wait.p99));
  }
  if (options.rate > 0) json.member("unsent", loop.n_unsent);
  json.member("client_cpu_us", rounded(per(loop.client_cpu_s * 1e6, n)));
  json.member("client_user_us", rounded(per(loop.client_user_s * 1e6, n)));
}

void write_ingest(Writer& json, const LoadReport& report, const LoadOptions& options) {
  const double n = n_units(report);
  json.member("batch", std::uint64_t{options.batch});
  json.member("points", report.n_points);
  json.member("points_per_s", rounded(per(n, report.loop.seconds)));
  json.member("bytes", report.sent_bytes);
  json.member("writer_cpu_us", rounded(per(report.writer_cpu_s * 1e6, n)));
  json.member("starved", report.loop.n_starved);
}

}  // namespace

Percentiles percentiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) { return percentile_of_sorted(values, share); };
  return {at(0.5), at(0.95), at(0.99), at(0.999), values.back()};
}

std::string to_table(const LoadReport& report, const LoadOptions& options) {
  const LoopResult& loop = report.loop;
  const Percentiles p = percentiles(loop.latencies_us);
  const double n = n_units(report);
  const bool is_ingest = report.n_points > 0;
  const std::string_view unit = is_ingest ? "point" : "query";
  std::string out;
  out += line("requests", fmt::format("{} in {:.2f} s, {} connections, pipeline {}, {}",
                                      loop.latencies_us.size(), loop.seconds, options.connections,
                                      options.pipeline, loop_name(options)));
  out += line(is_ingest ? "points/s" : "QPS", fmt::format("{:.1f}", per(n, loop.seconds)));
  out +=
      line("latency us", fmt::format("p50 {:.0f}  p95 {:.0f}  p99 {:.0f}  p99.9 {:.0f}  max {:.0f}",
                                     p.p50, p.p95, p.p99, p.p999, p.max));
  if (!loop.waits_us.empty()) {
    const Percentiles wait = percentiles(loop.waits_us);
    out += line(" of that, wait", fmt::format("p50 {:.0f}  p95 {:.0f}  p99 {:.0f} for a connection",
                                              wait.p50, wait.p95, wait.p99));
  }
  if (loop.n_unsent > 0) {
    out += line("not sent", fmt::format("{} arrivals: the server did not keep up; their waits "
                                        "are not in the figures above",
                                        loop.n_unsent));
  }
  if (report.recall) out += line("recall", recall_text(*report.recall, options));
  out += line("errors", loop.n_errors == 0
                            ? "0"
                            : fmt::format("{}; first: {}", loop.n_errors, loop.first_error));
  out +=
      line("server CPU", report.server_cpu_s
                             ? fmt::format("{:.2f} us per {}{}", per(*report.server_cpu_s * 1e6, n),
                                           unit, report.background ? ", with background work" : "")
                             : "unknown: /metrics has no process_cpu_seconds_total");
  out += line("client CPU",
              fmt::format("{:.2f} us per {}, {:.2f} of them user", per(loop.client_cpu_s * 1e6, n),
                          unit, per(loop.client_user_s * 1e6, n)));
  if (is_disturbed(report)) {
    out += line("disturbed", "the machine's speed changed by more than 3 % during the run");
  }
  if (is_ingest) {
    out +=
        line("bodies", fmt::format("{:.1f} MB, written at {:.2f} us per point; waited for {} times",
                                   static_cast<double>(report.sent_bytes) / 1e6,
                                   per(report.writer_cpu_s * 1e6, n), loop.n_starved));
  }
  return out;
}

std::string to_json(const LoadReport& report, const LoadOptions& options) {
  std::string out;
  Writer json(out);
  json.begin_object();
  write_subject(json, options);
  write_recall(json, report.recall);
  write_rates(json, report);
  write_environment(json, report);
  write_loop(json, report, options);
  if (report.n_points > 0) write_ingest(json, report, options);
  if (!report.loop.first_error.empty()) json.member("first_error", report.loop.first_error);
  json.end_object();
  return out;
}

}  // namespace quiver::bench
