#include "app/cluster/command.h"

namespace quiver::app {

CLI::App* add_cluster(CLI::App& app, ClusterStatusOptions& options) {
  auto* cluster = app.add_subcommand("cluster", "Look at a cluster.");
  cluster->require_subcommand(1);
  auto* status = cluster->add_subcommand("status", "Print the nodes of a cluster, as one sees it.");
  status->add_option("--url", options.url, "A node; default http://127.0.0.1:6333");
  status->add_option("--api-key", options.api_key, "Sent as `api-key`")->envname("QUIVER_API_KEY");
  status->add_option("--ca", options.ca,
                     "PEM file with the certificates that sign the server's; default: the "
                     "system's");
  status->footer("Only the leader knows how far the others are behind (lag).");
  return status;
}

}  // namespace quiver::app
