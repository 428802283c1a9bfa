#include "app/config/cluster_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "service/client/http.h"
#include "service/peer/peer_client.h"

namespace quiver::app {
namespace {

tl::unexpected<Error> wrong(std::string text) {
  return fail(Code::kInvalidArgument, std::move(text));
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// It travels in a header.
bool is_secret(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

std::string peer_text(const PeerAddress& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", address.host, is_ipv6 ? "]" : "",
                     address.port);
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    if (const auto part = trimmed(text.substr(0, comma)); !part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

Result<PeerAddress> parse_peer(std::string_view text) {
  auto endpoint = client::parse_url("http://" + std::string(text), service::kDefaultPeerPort);
  if (!endpoint || endpoint->port == 0) {
    return wrong(fmt::format("\"{}\" is not HOST or HOST:PORT", text));
  }
  return PeerAddress{std::move(endpoint->host), endpoint->port};
}

Result<std::vector<PeerAddress>> parse_peers(const std::string& peers) {
  std::vector<PeerAddress> parsed;
  for (const std::string& text : split_commas(peers)) {
    auto peer = parse_peer(text);
    if (!peer) return wrong("cluster.peers: " + peer.error().message());
    if (std::ranges::find(parsed, *peer) != parsed.end()) {
      return wrong(fmt::format("cluster.peers has {} twice", peer_text(*peer)));
    }
    parsed.push_back(*std::move(peer));
  }
  return parsed;
}

Result<> check_cluster(const ClusterSettings& settings) {
  QV_TRY(const auto peers, parse_peers(settings.peers));
  if (peers.empty()) return {};
  const bool is_one_machine =
      std::ranges::all_of(peers, [](const PeerAddress& peer) { return is_loopback(peer.host); });
  if (settings.secret.empty() && !is_one_machine) {
    return wrong(
        "cluster.secret is empty: whoever reaches a node's peer port could change all "
        "data");
  }
  if (!is_secret(settings.secret)) {
    return wrong("cluster.secret has other characters than visible ASCII");
  }
  if (settings.advertise.empty()) return {};
  auto self = parse_peer(settings.advertise);
  if (!self) return wrong("cluster.advertise: " + self.error().message());
  if (std::ranges::find(peers, *self) != peers.end()) return {};
  return wrong(fmt::format("cluster.advertise is {}, which cluster.peers lacks: {}",
                           peer_text(*self), settings.peers));
}

}  // namespace quiver::app
