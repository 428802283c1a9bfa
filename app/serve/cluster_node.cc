#include "app/serve/cluster_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "base/io/file.h"
#include "base/observe/log.h"
#include "cluster/identity.h"
#include "cluster/messages.h"

namespace quiver::app {
namespace {

constexpr client::CallLimits kPatient = {.connect = std::chrono::milliseconds(500),
                                         .answer = std::chrono::minutes(10)};
constexpr std::size_t kThreadsPerNode = 4;
/// What a call that is sent on has besides its message.
constexpr std::size_t kHeadBytes = 1 << 20;

cluster::NodeOptions node_options(const Settings& settings, const ClusterPlan& plan) {
  const ClusterSettings& cluster = settings.cluster;
  cluster::NodeOptions options;
  options.cluster_name = cluster.name;
  options.data_dir = settings.database.data_dir;
  options.address = plan.address;
  options.n_nodes = static_cast<std::uint32_t>(plan.peers.size());
  options.lease = std::chrono::seconds(cluster.lease_s);
  options.apply_timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(cluster.apply_timeout_s * 1000));
  options.log_keep_entries = cluster.log_keep_entries;
  options.replace_after = std::chrono::seconds(cluster.replace_after_s);
  return options;
}

}  // namespace

ClusterNode::ClusterNode(const Settings& settings, ClusterPlan plan)
    : settings_(settings.cluster),
      data_dir_(settings.database.data_dir),
      max_body_bytes_(settings.server.max_body_bytes),
      plan_(std::move(plan)),
      peers_({.secret = settings_.secret, .limits = {}}),
      ledger_(std::make_unique<cluster::EtcdLedger>(
          cluster::EtcdLedgerOptions{.members = plan_.ledger})),
      patient_peers_({.secret = settings_.secret, .limits = kPatient}) {}

Result<std::unique_ptr<ClusterNode>> ClusterNode::start(const Settings& settings) {
  QV_TRY(ClusterPlan plan, plan_cluster(settings));
  QV_TRY(open_real_directory(settings.database.data_dir));  // makes it
  std::unique_ptr<ClusterNode> made(new ClusterNode(settings, std::move(plan)));
  if (made->plan_.has_etcd) {
    cluster::EtcdProcessOptions options = made->plan_.etcd;
    options.may_found = [node = made.get()] { return node->may_found_ledger(); };
    QV_TRY(made->etcd_, cluster::EtcdProcess::start(std::move(options)));
  }
  QV_TRY(made->node_,
         cluster::Node::make(node_options(settings, made->plan_), *made->ledger_, made->peers_));
  log_info("node {} of cluster `{}`, {} peers, ledger {}", made->node_->view().self,
           settings.cluster.name, made->plan_.peers.size(),
           made->plan_.has_etcd ? "with a member here" : "elsewhere");
  return made;
}

Result<> ClusterNode::may_found_ledger() {
  QV_TRY(const std::string cluster, cluster::read_cluster_id(data_dir_));
  if (!cluster.empty()) {
    return fail(Code::kUnavailable,
                "its data is lost, and it waits for the other members of the ledger");
  }
  for (const PeerAddress& peer : plan_.peers) {
    if (peer == plan_.self) continue;
    const auto answer = peers_.call(peer_text(peer), cluster::kGetCluster, {});
    const auto& hosts = plan_.ledger_hosts;
    const bool is_host = std::ranges::find(hosts, peer) != hosts.end();
    if (!answer && is_host) {
      return fail(Code::kUnavailable, fmt::format("a ledger is founded when all its nodes run: {}",
                                                  answer.error().message()));
    }
    if (answer && !answer->empty()) {
      return fail(Code::kUnavailable,
                  fmt::format("the node at {} belongs to a cluster, whose ledger is waited for",
                              peer_text(peer)));
    }
  }
  return {};
}

/// The peer server ends before the node that answers for it, and etcd last.
ClusterNode::~ClusterNode() {
  if (node_) node_->stop();
  peer_server_.reset();
}

void ClusterNode::add_to(service::ServerOptions& options) {
  options.cluster.node = node_.get();
  options.cluster.peers = &patient_peers_;
  options.cluster.ca_file = settings_.ca_cert;
  options.cluster.lease = std::chrono::seconds(settings_.lease_s);
}

Result<> ClusterNode::join(engine::Database& local, MetricsRegistry& metrics) {
  QV_TRY(node_->start(local));
  service::PeerServerOptions options;
  options.host = plan_.self.host;
  options.port = plan_.self.port;
  options.secret = settings_.secret;
  options.max_message_bytes = std::max(options.max_message_bytes, max_body_bytes_ + kHeadBytes);
  options.n_threads = static_cast<std::uint32_t>(kThreadsPerNode * plan_.peers.size());
  QV_TRY(peer_server_, service::PeerServer::start(options, *node_, metrics));
  metrics.add_collector(
      [this](MetricsText& text) { collect_cluster_metrics(node_->view(), text); });
  return {};
}

Result<> ClusterNode::stop_peers() { return peer_server_ ? peer_server_->stop() : Result<>(); }

void collect_cluster_metrics(const cluster::NodeView& view, MetricsText& text) {
  const auto gauge = [&](std::string_view name, std::string_view help, double value,
                         const Labels& labels = {}) {
    text.sample(name, help, MetricType::kGauge, labels, value);
  };
  const auto n_alive = std::ranges::count_if(view.members, &cluster::NodeView::Member::is_alive);
  gauge("quiver_cluster_is_leader", "1 if this node leads", view.leader == view.self ? 1 : 0);
  gauge("quiver_cluster_epoch", "Grows with each change of the leader",
        static_cast<double>(view.epoch));
  gauge("quiver_cluster_members", "Nodes of the cluster", static_cast<double>(view.members.size()));
  gauge("quiver_cluster_members_alive", "Nodes whose lease has not run out",
        static_cast<double>(n_alive));
  gauge("quiver_cluster_ledger_up", "1 if the ledger answered the last time",
        view.is_ledger_up ? 1 : 0);
  gauge("quiver_cluster_stale_seconds", "Time since the ledger was last heard", view.stale_s);
  gauge("quiver_cluster_pending_entries", "Entries that wait for their commit",
        static_cast<double>(view.n_pending));
  gauge("quiver_cluster_draining_nodes", "Nodes that give up what they hold",
        static_cast<double>(std::ranges::count_if(
            view.members, [](const auto& member) { return member.drain.has_value(); })));
  gauge("quiver_cluster_held_collections", "Collections on some of the nodes that this one has",
        view.n_held);
  gauge("quiver_cluster_led_collections", "Collections on some of the nodes that this one leads",
        view.n_led);
  gauge("quiver_cluster_moving_collections",
        "Collections that a node gets or gives up; every node tells of all", view.n_moving);
  gauge("quiver_cluster_under_replicated_collections",
        "Collections with fewer copies on nodes that are alive than wanted; every node tells of "
        "all",
        view.n_under_replicated);
  for (const auto& member : view.members) {
    if (member.id == view.self) continue;
    gauge("quiver_cluster_lag_entries", "Entries not yet applied on a node; known to the leader",
          static_cast<double>(member.lag_entries), {{"peer", std::to_string(member.id)}});
  }
}

}  // namespace quiver::app
