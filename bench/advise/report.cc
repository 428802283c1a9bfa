#include "bench/advise/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/schema_names.h"
#include "bench/common/machine.h"
#include "bench/common/text_table.h"
#include "kernels/kernels.h"

namespace quiver::bench::advise {
namespace {

/// Recall that a larger way must gain to be shown.
constexpr double kRecallSlack = 0.001;

bool is_default(const Way& way) {
  const Way usual = default_way();
  return way.dtype == usual.dtype && way.index.type == usual.index.type &&
         way.index.build == usual.index.build;
}

std::string line(std::string_view name, const std::string& text) {
  return fmt::format("{:<9}{}\n", name, text);
}

std::string limits_text(const Advice& advice) {
  const Limits& limits = advice.limits;
  std::string text = limits.recall ? "fewest bytes" : "best recall";
  if (limits.recall) text += fmt::format(", recall@{} >= {:.4g}", advice.k, *limits.recall);
  if (limits.bytes) text += fmt::format(", at most {} bytes a vector", grouped(*limits.bytes, 0));
  if (limits.qps > 0) {
    text += fmt::format(", at least {} searches/s on one thread", grouped(limits.qps, 0));
  }
  return text;
}

std::string head(const Advice& advice) {
  const char* source = advice.held_out
                           ? " rows held out of them, since no queries were given: questions of "
                             "users may lie farther from the rows"
                           : " queries";
  std::string out;
  out += line("data", fmt::format("{}: {} rows x {}, {}; {}{}", advice.data,
                                  grouped(static_cast<double>(advice.n_rows), 0), advice.schema.dim,
                                  metric_name(advice.schema.metric), advice.n_queries, source));
  out += line("wanted", limits_text(advice));
  out += line("truth", "exact search over the vectors as given (f32)");
  out +=
      line("machine", fmt::format("{}, {}; rates are of one thread", cpu_name(), kernels().name));
  out += line("tried",
              fmt::format("{} ways on {} rows, {} of them on all rows, in {:.0f} s",
                          advice.sampled.size(), grouped(static_cast<double>(advice.n_sample), 0),
                          advice.ways.size(), advice.seconds));
  return out;
}

std::string remarks(const Advice& advice) {
  std::string out;
  for (const Refused& refused : advice.refused) {
    out += line("no", fmt::format("{}: {}", datatype_name(refused.dtype), refused.reason));
  }
  if (advice.n_untried + advice.n_unfinished > 0) {
    out += line("time", fmt::format("too short for {} ways on the sample and {} good ones on all "
                                    "rows; --seconds gives more",
                                    advice.n_untried, advice.n_unfinished));
  }
  return out;
}

void add_row(TextTable& table, const Advice& advice, const Point& point, bool best) {
  const MeasuredWay& way = advice.ways[point.way];
  const MeasuredEffort& effort = way.efforts[point.effort];
  std::string note = best ? "<- advised" : "";
  if (is_default(way.way)) note += best ? ", the default" : "the default";
  table.add_row({std::string(datatype_name(way.way.dtype)), index_text(way.way.index),
                 params_text(effort.params), grouped(way.bytes(), 0), grouped(way.row_bytes, 0),
                 grouped(way.index_bytes, 0), grouped(way.disk_bytes, 0),
                 fmt::format("{:.4f}", effort.recall), grouped(effort.qps, 0),
                 grouped(effort.p95_us, 0), note});
}

std::string table_of(const Advice& advice) {
  TextTable table;
  for (const char* name : {"row type", "index", "search"}) table.add_column(name, Align::kLeft);
  for (const char* name : {"bytes", "rows", "index", "disk"}) table.add_column(name);
  table.add_column(fmt::format("recall@{}", advice.k));
  for (const char* name : {"QPS", "p95 µs"}) table.add_column(name);
  table.add_column("", Align::kLeft);
  const Point best = best_point(advice);
  const auto points = best_points(advice.ways, advice.limits);
  for (const std::size_t way : front_of(advice)) {
    const bool is_best = way == best.way;
    add_row(table, advice, is_best ? best : points[way], is_best);
  }
  for (std::size_t way = 0; way < advice.ways.size(); ++way) {
    const auto front = front_of(advice);
    const bool shown = std::ranges::find(front, way) != front.end();
    if (!shown && is_default(advice.ways[way].way)) add_row(table, advice, points[way], false);
  }
  return table.to_string() +
         "bytes: of a vector, row and index, in the files that searches read. disk: in a "
         "collection, with the copy in the\nstore of rows and without payload.\n";
}

std::string advice_text(const Advice& advice) {
  const Point best = best_point(advice);
  const MeasuredWay& way = advice.ways[best.way];
  const std::string params = params_text(way.efforts[best.effort].params);
  const std::string figures =
      fmt::format("{}{}{}: {} bytes a vector, recall@{} {:.4f}, {} searches/s", way_text(way.way),
                  params.empty() ? "" : ", searched with ", params, grouped(best.bytes, 0),
                  advice.k, best.recall, grouped(best.qps, 0));
  if (meets(best, advice.limits)) return "Advised: " + figures + "\n";
  return fmt::format("No way reaches it ({}).\nThe nearest is {}\n", limits_text(advice), figures);
}

std::string curl(std::string_view verb, std::string_view path, const std::string& body) {
  return fmt::format("  curl -X {} $URL{} -H 'Content-Type: application/json' -d '{}'\n", verb,
                     path, body);
}

std::string apply_text(const Advice& advice) {
  const Requests requests = requests_of(advice, best_point(advice));
  std::string out = "To apply it (URL=http://127.0.0.1:6333, NAME is the collection):\n";
  out += curl("PUT", "/collections/$NAME", requests.create);
  if (!requests.indexes.empty()) {
    out += curl("PATCH", "/v1/collections/$NAME/indexes", requests.indexes);
  }
  if (!requests.search.empty()) out += "  in queries: \"params\": " + requests.search + "\n";
  return out;
}

}  // namespace

std::vector<Point> best_points(std::span<const MeasuredWay> ways, const Limits& limits) {
  std::vector<Point> best;
  const auto points = points_of(ways);
  for (std::size_t way = 0; way < ways.size(); ++way) {
    std::vector<Point> of_way;
    std::ranges::copy_if(points, std::back_inserter(of_way),
                         [way](const Point& point) { return point.way == way; });
    best.push_back(of_way[choose(of_way, limits).value_or(0)]);
  }
  return best;
}

Point best_point(const Advice& advice) {
  const auto points = points_of(advice.ways);
  return points[choose(points, advice.limits).value_or(0)];
}

std::vector<std::size_t> front_of(const Advice& advice) {
  const auto points = best_points(advice.ways, advice.limits);
  auto front = pareto_front(points, kRecallSlack);
  const std::size_t best = best_point(advice).way;
  if (std::ranges::find(front, best) == front.end()) front.push_back(best);
  std::ranges::sort(front, {}, [&](std::size_t way) { return points[way].bytes; });
  return front;
}

std::string to_text(const Advice& advice) {
  return head(advice) + remarks(advice) + "\n" + table_of(advice) + "\n" + advice_text(advice) +
         apply_text(advice);
}

}  // namespace quiver::bench::advise
