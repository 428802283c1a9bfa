#include "app/serve/serve.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "app/common/signals.h"
#include "app/common/version.h"
#include "app/serve/cluster_node.h"
#include "app/serve/collection_metrics.h"
#include "app/serve/device_metrics.h"
#include "app/serve/memory_limit.h"
#include "app/serve/open_files.h"
#include "base/observe/request_log.h"
#include "service/json/decode/decode_job.h"

namespace quiver::app {
namespace {

/// Raises the limit of open files, often 1024, and lowers `max_connections` to what it allows.
void divide_open_files(service::ServerOptions& server) {
  const std::uint64_t max_open_files = raise_open_files();
  const std::uint32_t wanted = server.max_connections;
  server.max_connections = connections_within(max_open_files, wanted);
  if (server.max_connections == wanted) return;
  log_warning(
      "service.max_connections is {} in place of {}: the process may have {} files open (its hard "
      "limit, `ulimit -Hn`), and storage needs the others",
      server.max_connections, wanted, max_open_files);
}

service::Identity identity_of(const Settings& settings) {
  service::Identity identity;
  identity.version = kVersion;
  identity.commit = kCommit;
  if (settings.identity != "qdrant") return identity;
  identity = service::compatible_identity();
  // The commit of our sources. Clients require one, so an unknown commit becomes zeros, as in git.
  identity.commit = *kCommit != '\0' ? kCommit : std::string(40, '0');
  return identity;
}

std::string address_of(const std::string& host, std::uint16_t port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
}

std::string url_of(const service::ServerOptions& server, std::uint16_t port) {
  const std::string_view scheme = server.tls.enabled ? "https" : "http";
  return fmt::format("{}://{}", scheme, address_of(server.host, port));
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

/// For jobs that were started before this process.
Result<engine::JoinRequest> decode_job(std::string_view text) {
  std::string body(text);
  auto job = service::json::decode_job(body);
  if (!job) return fail(Code::kDataLoss, "its request cannot be read: " + job.error().text);
  return std::move(job->request);
}

/// Prints a line at once, for people and scripts that wait for it.
void say(const std::string& line) {
  std::fprintf(stdout, "%s\n", line.c_str());
  std::fflush(stdout);
}

/// Ends the process without destructors: threads still use the objects. No acknowledged write is
/// lost.
[[noreturn]] void end_unfinished(const Error& error) {
  log_error("{}; the process ends now, the next start recovers", error.message());
  std::_Exit(EXIT_FAILURE);
}

/// With a node, the server serves the node's database, and the port for other nodes opens first.
Result<std::unique_ptr<service::Server>> start_server(const service::ServerOptions& options,
                                                      engine::Database& database, ClusterNode* node,
                                                      MetricsRegistry& metrics) {
  if (node == nullptr) return service::Server::start(options, database, metrics);
  QV_TRY(node->join(database, metrics));
  QV_TRY(auto server, service::Server::start(options, node->database(), metrics));
  node->use(*server);
  return server;
}

void stop_cluster(ClusterNode& node) {
  node.stop_node();
  if (auto stopped = node.stop_peers(); !stopped) end_unfinished(stopped.error());
}

}  // namespace

Result<> serve(Settings settings) {
  QV_TRY(install_stop_signals());
  set_up_log(settings.log);
  QV_TRY(set_up_request_log(settings.requests));
  divide_open_files(settings.server);
  set_memory_limit(settings);
  settings.server.identity = identity_of(settings);
  if (settings.server.audit.dir.empty()) {
    settings.server.audit.dir = settings.database.data_dir + "/audit";
  }
  settings.server.data_dir = settings.database.data_dir;
  if (settings.server.api_key.empty() && !is_loopback(settings.server.host)) {
    log_warning(
        "listening on {} without service.api_key: anyone who can reach it can change all data",
        settings.server.host);
  }

  MetricsRegistry metrics;
  metrics.add_collector(collect_process_metrics);
  QV_TRY(const auto devices, gpu::Devices::open(settings.gpu));
  metrics.add_collector(
      [&devices](MetricsText& text) { collect_device_metrics(devices->report(), text); });
  settings.server.devices = devices.get();
  settings.database.devices = devices.get();
  std::unique_ptr<ClusterNode> node;  // null: the server is alone
  if (!settings.cluster.peers.empty()) {
    QV_TRY(node, ClusterNode::start(settings));
    node->add_to(settings.server);
    settings.database.replication = &node->replication();
  }
  settings.database.decode_job = decode_job;
  QV_TRY(const auto database, engine::Database::open(settings.database));
  metrics.add_collector(
      [&database](MetricsText& text) { collect_collection_metrics(*database, text); });
  auto started = start_server(settings.server, *database, node.get(), metrics);
  if (!started) {
    if (node) stop_cluster(*node);
    if (auto closed = database->close(); !closed) log_error("{}", closed.error().message());
    return fail(std::move(started).error());
  }
  const auto server = *std::move(started);

  say(fmt::format("quiver {} listens on {}", kVersion, url_of(settings.server, server->port())));
  if (server->grpc_port() != 0) {
    const auto& own_host = settings.server.grpc.host;
    say("gRPC on " +
        address_of(own_host.empty() ? settings.server.host : own_host, server->grpc_port()));
  }
  say("data in " + absolute_path(settings.database.data_dir));
  if (settings.server.has_console) {
    say("console at " + url_of(settings.server, server->port()) + "/dashboard/");
  }

  const int signal = wait_for_stop();
  log_info("stopping: {}", strsignal(signal));
  if (auto stopped = server->stop(); !stopped) end_unfinished(stopped.error());
  if (node) stop_cluster(*node);
  auto closed = database->close();
  if (!closed && closed.error().code() == Code::kDeadlineExceeded) end_unfinished(closed.error());
  // A lost device's driver may never return from what it does when a process ends.
  if (closed && devices->has_lost_device()) std::_Exit(EXIT_SUCCESS);
  return closed;
}

}  // namespace quiver::app
