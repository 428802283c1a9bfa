#include "service/json/encode/encode_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

bool is_active(const cluster::NodeView& view) {
  return std::ranges::any_of(
      view.members, [&](const auto& member) { return member.id == view.self && member.is_active; });
}

std::string_view role_of(const cluster::NodeView& view) {
  return view.leader == view.self && view.self != 0 ? "Leader" : "Follower";
}

void write_peers(Writer& out, const cluster::NodeView& view) {
  out.begin_object();
  for (const auto& member : view.members) {
    out.key(std::to_string(member.id));
    out.begin_object();
    out.member("uri", std::string_view(fmt::format("http://{}/", member.address.peer)));
    out.end_object();
  }
  out.end_object();
}

void write_raft_members(Writer& out, const cluster::NodeView& view) {
  out.member("term", view.ledger_term);
  out.member("commit", static_cast<std::uint64_t>(view.ledger_revision));
  out.member("pending_operations", view.n_pending);
  out.member("role", role_of(view));
  out.member("is_voter", is_active(view));
}

void write_raft(Writer& out, const cluster::NodeView& view) {
  out.begin_object();
  write_raft_members(out, view);
  out.key("leader");
  view.leader == 0 ? out.null() : out.u64(view.leader);
  out.end_object();
}

void write_ledger_status(Writer& out, const cluster::NodeView& view, double now_s) {
  out.begin_object();
  if (view.is_ledger_up) {
    out.member("consensus_thread_status", "working");
    out.member("last_update", std::string_view(timestamp(now_s - view.stale_s)));
  } else {
    out.member("consensus_thread_status", "stopped_with_err");
    out.member("err", std::string_view(
                          fmt::format("the ledger was last heard {:.1f} s ago", view.stale_s)));
  }
  out.end_object();
}

void write_drain(Writer& out, const cluster::DrainView& drain) {
  out.key("draining");
  out.begin_object();
  out.member("collections_left", std::uint64_t{drain.n_collections});
  out.member("safe_to_stop", drain.is_done);
  if (!drain.trouble.empty()) out.member("trouble", std::string_view(drain.trouble));
  out.end_object();
}

void write_nodes(Writer& out, const cluster::NodeView& view) {
  out.begin_array();
  for (const auto& member : view.members) {
    out.begin_object();
    out.member("peer_id", member.id);
    out.member("peer", std::string_view(member.address.peer));
    out.member("http", std::string_view(member.address.http));
    out.member("alive", member.is_alive);
    out.member("leads", member.id == view.leader);
    out.member("active", member.is_active);
    out.member("lag_entries", member.lag_entries);
    if (member.drain) write_drain(out, *member.drain);
    out.end_object();
  }
  out.end_array();
}

std::string_view to_string(cluster::PlacementView::State state) {
  switch (state) {
    case cluster::PlacementView::State::kActive:
      return "active";
    case cluster::PlacementView::State::kLeaving:
      return "leaving";
    case cluster::PlacementView::State::kJoining:
      break;
  }
  return "joining";
}

void write_placement(Writer& out, const cluster::PlacementView& placement) {
  out.begin_object();
  out.member("collection", std::string_view(placement.collection));
  if (placement.shard) out.member("shard_id", std::uint64_t{*placement.shard});
  out.member("replication_factor", std::uint64_t{placement.factor});
  out.member("write_quorum", std::uint64_t{placement.write_quorum});
  out.key("leader");
  placement.leader == 0 ? out.null() : out.u64(placement.leader);
  out.key("replicas");
  out.begin_array();
  for (const auto& replica : placement.replicas) {
    out.begin_object();
    out.member("peer_id", replica.id);
    out.member("state", to_string(replica.state));
    out.member("alive", replica.is_alive);
    out.end_object();
  }
  out.end_array();
  if (!placement.trouble.empty()) out.member("trouble", std::string_view(placement.trouble));
  out.end_object();
}

}  // namespace

void write_cluster(Writer& out, const cluster::NodeView& view,
                   std::span<const cluster::PlacementView> placements, double now_s) {
  out.begin_object();
  out.member("status", "enabled");
  out.member("peer_id", view.self);
  out.key("peers");
  write_peers(out, view);
  out.key("raft_info");
  write_raft(out, view);
  out.key("consensus_thread_status");
  write_ledger_status(out, view, now_s);
  out.key("message_send_failures");
  out.raw("{}");
  out.member("epoch", static_cast<std::uint64_t>(view.epoch));
  out.member("n_nodes", std::uint64_t{view.n_nodes});
  out.member("write_quorum", std::uint64_t{view.write_quorum});
  out.member("ledger_up", view.is_ledger_up);
  out.key("stale_seconds");
  out.f64(view.stale_s);
  out.key("nodes");
  write_nodes(out, view);
  out.key("placements");
  out.begin_array();
  for (const auto& placement : placements) write_placement(out, placement);
  out.end_array();
  out.member("moving_collections", std::uint64_t{view.n_moving});
  out.member("under_replicated_collections", std::uint64_t{view.n_under_replicated});
  out.end_object();
}

void write_cluster_telemetry(Writer& out, const cluster::NodeView* view, double now_s) {
  out.begin_object();
  out.member("enabled", view != nullptr);
  if (view != nullptr) {
    out.key("status");
    out.begin_object();
    out.member("number_of_peers", std::uint64_t{view->members.size()});
    write_raft_members(out, *view);
    out.member("peer_id", view->self);
    out.key("consensus_thread_status");
    write_ledger_status(out, *view, now_s);
    out.end_object();
    out.key("peers");
    write_peers(out, *view);
  }
  out.end_object();
}

}  // namespace quiver::service::json
