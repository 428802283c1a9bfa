// Measured recall, and how recall that was asked for is reached.
#include <algorithm>

#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

double share_of(engine::Ppm ppm) { return ppm / engine::kPpm; }

void write_measurement(Writer& out, std::uint64_t n_queries, engine::RecallSource source,
                       std::uint64_t measured_at_ms) {
  out.member("queries", n_queries);
  out.member("from", to_string(source));
  out.member("measured_at", timestamp(static_cast<double>(measured_at_ms) / 1000));
}

void write_cell(Writer& out, const engine::RecallCell& cell) {
  out.begin_object();
  out.member("k", cell.k);
  out.member("selectivity", share_of(cell.selectivity));
  out.key("efforts");
  out.begin_array();
  for (const auto& point : cell.points) {
    out.begin_object();
    out.member("effort", point.effort);
    out.member("recall", share_of(point.recall));
    out.member("recall_each", share_of(point.low));
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

void write_table_members(Writer& out, const engine::RecallTable& table) {
  write_measurement(out, table.n_queries, table.source, table.measured_at_ms);
  out.member("points", table.n_points);
  out.member("indexed_points", table.n_indexed);
  out.key("curves");
  out.begin_array();
  for (const auto& cell : table.cells) write_cell(out, cell);
  out.end_array();
}

void write_watch(Writer& out, const engine::RecallStatus& status) {
  out.key("watch");
  out.begin_object();
  if (status.n_watched != 0) out.member("observed", status.observed);
  out.member("watched", status.n_watched);
  out.member("alarms", status.n_alarms);
  out.member("effort_factor", status.effort_factor);
  out.member("recorded", status.n_recorded);
  out.key("next");
  out.begin_object();
  out.member("state", to_string(status.next));
  if (!status.why.empty()) out.member("why", status.why);
  if (status.next == engine::RecallStatus::Next::kWaiting) out.member("rest_s", status.in_s);
  out.end_object();
  out.end_object();
}

}  // namespace

void write_recall_table(Writer& out, const engine::RecallTable& table) {
  out.begin_object();
  out.key("using");
  out.string(table.field);
  write_table_members(out, table);
  out.end_object();
}

void write_recall_fields(Writer& out, const std::vector<engine::RecallTable>& tables,
                         const std::vector<engine::RecallStatus>& statuses) {
  out.begin_object();
  out.key("fields");
  out.begin_array();
  for (const auto& status : statuses) {
    out.begin_object();
    out.key("using");
    out.string(status.field);
    const auto table = std::ranges::find(tables, status.field, &engine::RecallTable::field);
    if (table != tables.end()) write_table_members(out, *table);
    write_watch(out, status);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

void write_recall_report(Writer& out, const engine::RecallReport::Facts& facts) {
  out.begin_object();
  if (facts.target.mean) out.member("target", *facts.target.mean);
  if (facts.target.each) out.member("target_each", *facts.target.each);
  out.member("estimate", facts.estimate);
  out.member("exact", facts.is_exact);
  out.member("effort", facts.effort);
  if (facts.n_queries != 0) {
    write_measurement(out, facts.n_queries, facts.source, facts.measured_at_ms);
  }
  out.end_object();
}

}  // namespace quiver::service::json
