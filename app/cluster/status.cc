#include "app/cluster/status.h"

#include <fmt/format.h>

#include <cstdio>

#include "app/cluster/answer.h"
#include "app/cluster/requests.h"
#include "payload/json/document.h"

namespace quiver::app {
namespace {

using payload::Value;

constexpr std::string_view kRow = "{:<20} {:<28} {:<6} {:<6} {:<7} {:>6}\n";

std::string_view yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string row_of(const Value& node) {
  return fmt::format(kRow, node.find_unsigned("peer_id").value_or(0), text_member(node, "peer"),
                     yes_or_no(is_true(node, "alive")), yes_or_no(is_true(node, "leads")),
                     yes_or_no(is_true(node, "active")),
                     node.find_unsigned("lag_entries").value_or(0));
}

/// A line for each node that drains.
std::string drains_text(const payload::Array& nodes) {
  std::string text;
  for (const Value& node : nodes) {
    const Value* draining = node.find("draining");
    if (draining == nullptr) continue;
    const auto id = node.find_unsigned("peer_id").value_or(0);
    const std::string trouble = text_member(*draining, "trouble");
    if (is_true(*draining, "safe_to_stop")) {
      text += fmt::format("node {} is drained and may be stopped\n", id);
      continue;
    }
    text += fmt::format("node {} drains, collections left: {}{}\n", id,
                        draining->find_unsigned("collections_left").value_or(0),
                        trouble.empty() ? "" : "; " + trouble);
  }
  return text;
}

/// Why copies cannot move away from nodes that drain or are gone.
std::string warnings_text(const payload::Array& placements) {
  std::string text;
  for (const Value& row : placements) {
    const std::string trouble = text_member(row, "trouble");
    if (trouble.empty()) continue;
    text += fmt::format("collection {}: {}\n", placed_name(row), trouble);
  }
  return text;
}

/// A line for each collection that is on some nodes only; "" without any.
std::string placements_table(const Value& cluster) {
  constexpr std::string_view kPlacement = "{:<32} {:>6} {:<20} {}\n";
  const Value* placements = cluster.find("placements");
  const auto* rows = placements == nullptr ? nullptr : placements->as_array();
  if (rows == nullptr || rows->empty()) return "";
  std::string table = "\n" + fmt::format(kPlacement, "collection", "factor", "leader", "nodes");
  for (const Value& row : *rows) {
    const Value* replicas = row.find("replicas");
    std::string nodes;
    if (replicas != nullptr && replicas->as_array() != nullptr) {
      for (const Value& replica : *replicas->as_array()) {
        const std::string state = text_member(replica, "state");
        nodes += fmt::format("{}{}{}{}", nodes.empty() ? "" : ", ",
                             replica.find_unsigned("peer_id").value_or(0),
                             state == "active" ? "" : fmt::format(" {}", state),
                             is_true(replica, "alive") ? "" : " down");
      }
    }
    const auto leader = row.find_unsigned("leader");
    table += fmt::format(kPlacement, placed_name(row),
                         row.find_unsigned("replication_factor").value_or(0),
                         leader ? std::to_string(*leader) : "none", nodes);
  }
  return table + warnings_text(*rows);
}

}  // namespace

Result<std::string> cluster_table(std::string_view body) {
  QV_TRY(const Value answer, payload::parse_json(body));
  const Value* result = answer.find("result");
  if (result != nullptr && text_member(*result, "status") == "disabled") {
    return fail(Code::kFailedPrecondition, "the server belongs to no cluster");
  }
  const Value* nodes = result == nullptr ? nullptr : result->find("nodes");
  if (nodes == nullptr || nodes->as_array() == nullptr) {
    return fail(Code::kInvalidArgument, "the answer names no nodes");
  }
  std::string table = fmt::format(kRow, "node", "peer", "alive", "leads", "active", "lag");
  for (const Value& node : *nodes->as_array()) table += row_of(node);
  const bool is_up = is_true(*result, "ledger_up");
  return table +
         fmt::format("ledger {}, {} of {} nodes must have a change\n", is_up ? "up" : "down",
                     result->find_unsigned("write_quorum").value_or(0),
                     result->find_unsigned("n_nodes").value_or(0)) +
         drains_text(*nodes->as_array()) + placements_table(*result);
}

Result<> run_cluster_status(const ClusterStatusOptions& options) {
  QV_TRY(const auto server, connect_to(options));
  QV_TRY(const std::string answer, ask_node(*server, "GET", "/cluster"));
  QV_TRY(const std::string table, cluster_table(answer));
  std::fputs(table.c_str(), stdout);
  return {};
}

}  // namespace quiver::app
