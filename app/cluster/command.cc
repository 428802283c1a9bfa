#include "app/cluster/command.h"

namespace quiver::app {
namespace {

void add_options(CLI::App& command, ClusterStatusOptions& options) {
  command.add_option("--url", options.url, "A node; default http://127.0.0.1:6333");
  command.add_option("--api-key", options.api_key, "Sent as `api-key`")->envname("QUIVER_API_KEY");
  command.add_option("--ca", options.ca,
                     "PEM file with the certificates that sign the server's; default: the "
                     "system's");
}

CLI::App* add_drain(CLI::App& cluster, ClusterStatusOptions& options) {
  auto* drain = cluster.add_subcommand(
      "drain", "Move what a node has to other nodes, so that it can be stopped.");
  add_options(*drain, options);
  drain->add_option("node", options.node, "Its id or its peer address, as `status` prints them")
      ->required();
  drain->add_flag("--undo", options.undoes, "The node holds collections again");
  drain->add_flag("--no-wait", options.returns_at_once,
                  "Return at once; `status` shows how far it is");
  drain->footer(
      "Collections with a replication_factor move to other nodes, and what the node leads is led "
      "by others. It stays so, also over restarts, until --undo. Exit status 1 if something cannot "
      "move.");
  return drain;
}

CLI::App* add_remove(CLI::App& cluster, ClusterStatusOptions& options) {
  auto* remove = cluster.add_subcommand("remove", "Take a node out of its cluster, for good.");
  add_options(*remove, options);
  remove->add_option("node", options.node, "Its id or its peer address, as `status` prints them")
      ->required();
  remove->add_flag("--force", options.forces,
                   "Also if it has collections: it is gone for good, and other nodes have them");
  remove->footer("Majorities count the node no more. `quiver cluster drain` it before.");
  return remove;
}

CLI::App* add_balance(CLI::App& cluster, ClusterStatusOptions& options) {
  auto* balance = cluster.add_subcommand(
      "balance", "Move collections so that nodes hold about the same number of bytes.");
  add_options(*balance, options);
  balance->add_flag("--dry-run", options.only_prints, "Print the moves and make none");
  balance->footer(
      "Moves collections with a replication_factor, two at a time, and returns once all are over; "
      "reads and changes go on. If it is stopped, moves that have begun go on. Exit status 1 if "
      "some were not made.");
  return balance;
}

}  // namespace

ClusterCommands add_cluster(CLI::App& app, ClusterStatusOptions& options) {
  auto* cluster = app.add_subcommand("cluster", "Look at a cluster and change its nodes.");
  cluster->require_subcommand(1);
  auto* status = cluster->add_subcommand("status", "Print the nodes of a cluster, as one sees it.");
  add_options(*status, options);
  status->footer("Only the leader knows how far the others are behind (lag).");
  auto* check = cluster->add_subcommand("check", "Compare the points of all nodes.");
  add_options(*check, options);
  check->footer(
      "Reads every point of every collection from every node, with payload and vectors. May run "
      "under load. Exit status 1 if a point differs.");
  auto* adopt = cluster->add_subcommand(
      "adopt", "Bring collections that one node has alone into its cluster.");
  add_options(*adopt, options);
  adopt->add_option("collections", options.collections, "Names of collections of that node")
      ->required();
  adopt->footer(
      "For collections that a server had before it became a node. Each is copied to the other "
      "nodes, and is one of the cluster once a majority holds it.");
  return {.status = status,
          .check = check,
          .adopt = adopt,
          .drain = add_drain(*cluster, options),
          .remove = add_remove(*cluster, options),
          .balance = add_balance(*cluster, options)};
}

}  // namespace quiver::app
