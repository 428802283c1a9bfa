#include "app/cluster/nodes.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "app/cluster/answer.h"
#include "app/cluster/requests.h"
#include "payload/json/document.h"

namespace quiver::app {
namespace {

using payload::Value;
using Clock = std::chrono::steady_clock;

/// Nodes tell of trouble while another one restarts, or leadership changes; it passes.
constexpr std::chrono::seconds kTroublePatience{10};

std::string describe(const DrainProgress& progress) {
  std::string text = progress.n_left == 1 ? std::string("1 collection left")
                                          : fmt::format("{} collections left", progress.n_left);
  if (progress.n_left == 0) text = "no collections left, and it still leads or is needed";
  return progress.trouble.empty() ? text : text + "; " + progress.trouble;
}

tl::unexpected<Error> cannot_go_on(const DrainProgress& progress) {
  return fail(Code::kFailedPrecondition,
              fmt::format("{}. The drain stays in force and goes on once that is there; --undo "
                          "ends it",
                          progress.trouble));
}

Result<> wait_until_drained(client::ServerConnection& server, std::uint64_t node) {
  DrainProgress last;
  auto changed = Clock::now();
  auto heard = Clock::now();
  while (true) {
    const auto body = ask_node(server, "GET", "/cluster");
    const auto now = Clock::now();
    if (!body && now - heard > kSilencePatience) return fail(body.error());
    if (body) {
      heard = now;
      QV_TRY(const DrainProgress progress, drain_progress(*body, node));
      if (progress.is_done) return {};
      if (last.is_draining && !progress.is_draining) {
        return fail(Code::kAborted, "the drain was ended");
      }
      if (progress.is_draining && progress != last) print_line(describe(progress));
      if (progress != last) changed = now;
      last = progress;
      if (!last.trouble.empty() && now - changed > kTroublePatience) return cannot_go_on(last);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace

Result<std::uint64_t> find_node(std::string_view body, std::string_view id_or_peer) {
  QV_TRY(const Value answer, payload::parse_json(body));
  const payload::Array* nodes = rows_in(answer, "nodes");
  if (nodes == nullptr) return no_nodes();
  for (const Value& node : *nodes) {
    const auto id = node.find_unsigned("peer_id");
    const bool is_it =
        id && (std::to_string(*id) == id_or_peer || text_member(node, "peer") == id_or_peer);
    if (is_it) return *id;
  }
  return fail(Code::kNotFound, fmt::format("the cluster has no node `{}`", id_or_peer));
}

Result<DrainProgress> drain_progress(std::string_view body, std::uint64_t node) {
  QV_TRY(const Value answer, payload::parse_json(body));
  const payload::Array* nodes = rows_in(answer, "nodes");
  if (nodes == nullptr) return no_nodes();
  for (const Value& row : *nodes) {
    if (row.find_unsigned("peer_id") != node) continue;
    const Value* draining = row.find("draining");
    if (draining == nullptr) return DrainProgress();
    return DrainProgress{true, draining->find_unsigned("collections_left").value_or(0),
                         is_true(*draining, "safe_to_stop"), text_member(*draining, "trouble")};
  }
  return fail(Code::kNotFound, fmt::format("the cluster has no node {} any more", node));
}

Result<> run_cluster_drain(const ClusterStatusOptions& options) {
  QV_TRY(const auto server, connect_to(options));
  QV_TRY(const std::string cluster, ask_node(*server, "GET", "/cluster"));
  QV_TRY(const std::uint64_t node, find_node(cluster, options.node));
  const std::string target = fmt::format("/v1/cluster/nodes/{}/drain", node);
  QV_TRY(ask_patiently(*server, options.undoes ? "DELETE" : "POST", target));
  if (options.undoes) {
    print_line(fmt::format("node {} does not drain any more; moves that have begun go on", node));
    return {};
  }
  if (options.returns_at_once) {
    print_line(fmt::format("node {} drains", node));
    return {};
  }
  QV_TRY(wait_until_drained(*server, node));
  print_line(fmt::format("node {} is drained and may be stopped", node));
  return {};
}

Result<> run_cluster_remove(const ClusterStatusOptions& options) {
  QV_TRY(const auto server, connect_to(options));
  QV_TRY(const std::string cluster, ask_node(*server, "GET", "/cluster"));
  QV_TRY(const std::uint64_t node, find_node(cluster, options.node));
  QV_TRY(
      ask_patiently(*server, "DELETE",
                    fmt::format("/cluster/peer/{}{}", node, options.forces ? "?force=true" : "")));
  print_line(fmt::format("node {} is removed", node));
  return {};
}

}  // namespace quiver::app
