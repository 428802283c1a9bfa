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

}  // namespace

ClusterCommands add_cluster(CLI::App& app, ClusterStatusOptions& options) {
  auto* cluster = app.add_subcommand("cluster", "Look at a cluster.");
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
  return {.status = status, .check = check, .adopt = adopt};
}

}  // namespace quiver::app
