// Measured recall, and how recall that was asked for is reached.
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

double share_of(engine::Ppm ppm) { return ppm / engine::kPpm; }

void write_measurement(Writer& out, std::uint64_t n_queries, bool is_synthetic,
                       std::uint64_t measured_at_ms) {
  out.member("queries", n_queries);
  out.member("from", is_synthetic ? "synthetic" : "given");
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

}  // namespace

void write_recall_table(Writer& out, const engine::RecallTable& table) {
  out.begin_object();
  out.key("using");
  out.string(table.field);
  write_measurement(out, table.n_queries, table.is_synthetic, table.measured_at_ms);
  out.member("points", table.n_points);
  out.key("curves");
  out.begin_array();
  for (const auto& cell : table.cells) write_cell(out, cell);
  out.end_array();
  out.end_object();
}

void write_recall_tables(Writer& out, const std::vector<engine::RecallTable>& tables) {
  out.begin_object();
  out.key("fields");
  out.begin_array();
  for (const auto& table : tables) write_recall_table(out, table);
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
    write_measurement(out, facts.n_queries, facts.is_synthetic, facts.measured_at_ms);
  }
  out.end_object();
}

}  // namespace quiver::service::json
