#include "bench/ann/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/schema_names.h"
#include "bench/common/statistics.h"
#include "bench/common/text_table.h"
#include "kernels/kernels.h"

namespace quiver::bench {
namespace {

constexpr double kMinCpuShare = 0.97;

std::string line(std::string_view name, const std::string& text) {
  return fmt::format("{:<9}{}\n", name, text);
}

std::string text_of(const ParamValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : to_string(value);
}

double index_bytes(const BuiltIndex::Cost& cost) {
  return static_cast<double>(cost.memory.heap_bytes + cost.memory.mapped_bytes);
}

double gb_per_s(const RunFacts& facts, const MeasuredPoint& point) {
  return static_cast<double>(point.work.n_bytes) / static_cast<double>(facts.n_queries) *
         median(point.qps) * 1e-9;
}

std::set<std::string> keys_of(std::span<const MeasuredPoint> points) {
  std::set<std::string> keys;
  for (const auto& point : points) {
    for (const auto& [key, value] : point.params) keys.insert(key);
  }
  return keys;
}

std::string cell_of(const KeyValues& params, const std::string& key) {
  const auto found = params.find(key);
  return found == params.end() ? "" : text_of(found->second);
}

}  // namespace

MeasuredPoint make_point(KeyValues params, const Measurement& measurement,
                         const RecallSummary& recall) {
  MeasuredPoint point;
  point.params = std::move(params);
  point.recall = recall;
  point.qps = measurement.qps;
  point.p50_us = percentile(measurement.latencies_us, 0.5);
  point.p95_us = percentile(measurement.latencies_us, 0.95);
  point.p99_us = percentile(measurement.latencies_us, 0.99);
  point.p999_us = percentile(measurement.latencies_us, 0.999);
  point.cpu_us = measurement.cpu_us;
  point.cpu_share = measurement.cpu_share;
  point.work = measurement.work;
  return point;
}

void mark_disturbed(std::span<MeasuredPoint> points) {
  std::vector<Calibration> all;
  for (const auto& point : points) {
    all.push_back(point.before);
    all.push_back(point.after);
  }
  const Calibration usual = typical(all);
  for (auto& point : points) {
    const bool kept_away = point.cpu_share < kMinCpuShare;
    point.disturbed = kept_away || deviates(point.before, usual) || deviates(point.after, usual);
  }
}

std::string head(const RunFacts& facts, const Calibration& machine) {
  const double n = static_cast<double>(facts.n_rows);
  const MeasureOptions& method = facts.method;
  const std::string dim = facts.schema.dim == 0 ? "" : fmt::format(" x {}", facts.schema.dim);
  const std::string peak =
      facts.cost.peak_bytes ? bytes_text(static_cast<double>(*facts.cost.peak_bytes)) : "unknown";
  const std::string truth = facts.truth_given ? "ids given, scores recomputed"
                            : facts.truth_cached
                                ? "exact, from the cache"
                                : fmt::format("exact, computed in {:.1f} s", facts.truth_seconds);
  std::string out;
  out += line("data", fmt::format("{}: {} rows{}, {} {}, {}; queries {} to {}", facts.data,
                                  grouped(n, 0), dim, kind_name(facts.schema.kind),
                                  dtype_name(facts.schema.dtype), metric_name(facts.schema.metric),
                                  facts.first_query, facts.first_query + facts.n_queries - 1));
  if (!facts.filter.empty()) {
    out += line("filter", fmt::format("{}: allows {:.2f} % of rows on average", facts.filter,
                                      facts.selectivity * 100));
  }
  out += line("truth", truth);
  out += line("index", fmt::format("{}{}{}; built in {:.2f} s, peak memory +{}", facts.index,
                                   facts.build_params.empty() ? "" : " ",
                                   to_string(facts.build_params), facts.cost.seconds, peak));
  out += line("bytes", fmt::format("{} a vector of index and codes, {} of exact rows",
                                   grouped(index_bytes(facts.cost) / n),
                                   grouped(static_cast<double>(facts.exact_bytes) / n)));
  out += line("machine", fmt::format("{}, {}; {} usable cores; one thread reads {:.1f} GB/s at "
                                     "{:.2f} GHz",
                                     cpu_name(), kernels().name, n_usable_cpus(),
                                     machine.read_gb_per_s, machine.clock_ghz));
  out += line("method",
              fmt::format("{} thread{}, {}; median of {} repeats of at least {} s after {} warm-up",
                          method.threads, method.threads == 1 ? "" : "s",
                          method.batch == 1 ? std::string("one query per call")
                                            : fmt::format("{} queries per call", method.batch),
                          method.repeats, method.min_seconds, method.warmup));
  return out;
}

std::string to_table(const RunFacts& facts, std::span<const MeasuredPoint> points) {
  TextTable table;
  const auto keys = keys_of(points);
  for (const auto& key : keys) table.add_column(key);
  table.add_column(fmt::format("recall@{}", facts.k));
  for (const char* name : {"p5", "short", "QPS", "spread", "p50 µs", "p95 µs", "p99 µs", "p99.9 µs",
                           "CPU µs", "GB/s"}) {
    table.add_column(name);
  }
  table.add_column("", Align::kLeft);
  for (const auto& point : points) {
    std::vector<std::string> cells;
    for (const auto& key : keys) cells.push_back(cell_of(point.params, key));
    cells.push_back(fmt::format("{:.4f}", point.recall.mean));
    cells.push_back(fmt::format("{:.2f}", point.recall.p5));
    cells.push_back(std::to_string(point.recall.n_short));
    cells.push_back(grouped(median(point.qps)));
    cells.push_back(fmt::format("{:.1f} %", spread(point.qps) * 100));
    for (const double us : {point.p50_us, point.p95_us, point.p99_us, point.p999_us, point.cpu_us})
      cells.push_back(grouped(us));
    cells.push_back(fmt::format("{:.1f}", gb_per_s(facts, point)));
    cells.emplace_back(point.disturbed ? "disturbed" : "");
    table.add_row(std::move(cells));
  }
  return table.to_string();
}

std::string targets_table(std::span<const MeasuredPoint> points, std::span<const double> targets) {
  if (targets.empty()) return "";
  TextTable table;
  for (const char* name : {"recall of", "recall", "QPS", "p50 µs", "p99 µs"})
    table.add_column(name);
  table.add_column("fastest point that reaches it", Align::kLeft);
  for (const double target : targets) {
    const MeasuredPoint* best = nullptr;
    for (const auto& point : points) {
      if (point.recall.mean < target) continue;
      if (best == nullptr || median(point.qps) > median(best->qps)) best = &point;
    }
    const std::string wanted = fmt::format(">= {:.4g}", target);
    if (best == nullptr) {
      table.add_row({wanted, "–", "–", "–", "–", "not reached"});
      continue;
    }
    std::string params;
    for (const auto& [key, value] : best->params) {
      params += fmt::format("{}{}={}", params.empty() ? "" : " ", key, text_of(value));
    }
    table.add_row({wanted, fmt::format("{:.4f}", best->recall.mean), grouped(median(best->qps)),
                   grouped(best->p50_us), grouped(best->p99_us),
                   params + (best->disturbed ? " (disturbed)" : "")});
  }
  return table.to_string();
}

std::string notes(std::span<const MeasuredPoint> points) {
  std::string out;
  const auto n_disturbed = std::count_if(points.begin(), points.end(),
                                         [](const MeasuredPoint& p) { return p.disturbed; });
  if (n_disturbed > 0) {
    out += fmt::format(
        "\n{} of {} points disturbed: the machine's speed changed by more than 3 %, or other "
        "processes used the core. Measure them again.\n",
        n_disturbed, points.size());
  }
  return out;
}

}  // namespace quiver::bench
