#include "app/serve/cluster_plan.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace quiver::app {
namespace {

constexpr std::size_t kLedgerMembers = 3;

tl::unexpected<Error> wrong(std::string text) {
  return fail(Code::kInvalidArgument, std::move(text));
}

/// The numeric address by which `host` is this machine; nullopt if it is another one.
std::optional<std::string> local_address(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    const client::Socket probe(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    std::array<char, NI_MAXHOST> text;
    const bool is_here = probe.fd() >= 0 && bind(probe.fd(), a->ai_addr, a->ai_addrlen) == 0;
    if (is_here && getnameinfo(a->ai_addr, a->ai_addrlen, text.data(), text.size(), nullptr, 0,
                               NI_NUMERICHOST) == 0) {
      return std::string(text.data());
    }
  }
  return std::nullopt;
}

Result<PeerAddress> find_self(const ClusterSettings& settings,
                              const std::vector<PeerAddress>& peers) {
  if (!settings.advertise.empty()) return parse_peer(settings.advertise);
  std::vector<PeerAddress> here;
  std::ranges::copy_if(peers, std::back_inserter(here), [](const PeerAddress& peer) {
    return local_address(peer.host).has_value();
  });
  if (here.size() == 1) return here.front();
  return wrong(
      fmt::format("cluster.advertise must say which of cluster.peers this node is: {} of "
                  "{} are addresses of this machine",
                  here.size(), peers.size()));
}

Result<std::string> public_url(const Settings& settings, const PeerAddress& self) {
  if (!settings.cluster.advertise_http.empty()) {
    auto url = client::parse_url(settings.cluster.advertise_http);
    if (!url) return wrong("cluster.advertise_http: " + url.error().message());
    return settings.cluster.advertise_http;
  }
  if (settings.server.port == 0) {
    return wrong("service.http_port is 0: other nodes must know the port of a node");
  }
  if (is_loopback(settings.server.host) && !is_loopback(self.host)) {
    return wrong(fmt::format("service.host is {}: other nodes cannot reach this one there",
                             settings.server.host));
  }
  const std::string_view scheme = settings.server.tls.enabled ? "https" : "http";
  return fmt::format("{}://{}", scheme, peer_text({self.host, settings.server.port}));
}

std::uint16_t port_or(std::uint16_t port, const PeerAddress& peer, int offset) {
  return port != 0 ? port : static_cast<std::uint16_t>(peer.port + offset);
}

/// The peers that run the ledger.
std::vector<PeerAddress> ledger_hosts(const std::vector<PeerAddress>& peers) {
  const std::size_t n = peers.size() < kLedgerMembers ? 1 : kLedgerMembers;
  return {peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(n)};
}

Result<> plan_etcd(const Settings& settings, ClusterPlan& plan) {
  const ClusterSettings& cluster = settings.cluster;
  plan.ledger_hosts = ledger_hosts(plan.peers);
  auto& etcd = plan.etcd;
  for (const PeerAddress& host : plan.ledger_hosts) {
    const std::string name = fmt::format("{}-{}", cluster.name, etcd.members.size() + 1);
    const std::uint16_t client_port = port_or(cluster.ledger_client_port, host, 1);
    etcd.members.push_back({.name = name,
                            .host = host.host,
                            .peer_port = port_or(cluster.ledger_peer_port, host, 2),
                            .client_port = client_port});
    const client::Endpoint member{.host = host.host, .port = client_port};
    const bool is_self = host == plan.self;
    plan.ledger.insert(is_self ? plan.ledger.begin() : plan.ledger.end(), member);
    if (is_self) etcd.name = name;
  }
  plan.has_etcd = !etcd.name.empty();
  if (!plan.has_etcd) return {};
  const auto address = local_address(plan.self.host);
  if (!address) {
    return wrong(fmt::format("cluster.advertise is {}, which is no address of this machine",
                             plan.self.host));
  }
  etcd.listen_host = *address;
  etcd.client_port = port_or(cluster.ledger_client_port, plan.self, 1);
  etcd.peer_port = port_or(cluster.ledger_peer_port, plan.self, 2);
  etcd.data_dir = settings.database.data_dir + "/ledger";
  etcd.cluster_token = cluster.name;
  return {};
}

}  // namespace

Result<ClusterPlan> plan_cluster(const Settings& settings) {
  const ClusterSettings& cluster = settings.cluster;
  ClusterPlan plan;
  QV_TRY(plan.peers, parse_peers(cluster.peers));
  QV_TRY(plan.self, find_self(cluster, plan.peers));
  plan.address.peer = peer_text(plan.self);
  QV_TRY(plan.address.http, public_url(settings, plan.self));
  if (cluster.ledger == "managed") {
    QV_TRY(plan_etcd(settings, plan));
    return plan;
  }
  for (const std::string& url : split_commas(cluster.ledger)) {
    auto member = client::parse_url(url, 2379);
    if (!member) return wrong("cluster.ledger: " + member.error().message());
    plan.ledger.push_back(*std::move(member));
  }
  if (plan.ledger.empty()) return wrong("cluster.ledger is empty, wanted `managed` or URLs");
  return plan;
}

}  // namespace quiver::app
