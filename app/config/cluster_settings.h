// The section `cluster` as an operator writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace quiver::app {

struct ClusterSettings {
  std::string peers;           ///< between commas; empty: no cluster
  std::string advertise;       ///< which of `peers` this is; empty: the only one of this machine
  std::string advertise_http;  ///< URL of the public API; empty: made of the above
  std::string secret;
  std::string ca_cert;
  std::string ledger = "managed";        ///< or URLs, between commas
  std::uint16_t ledger_client_port = 0;  ///< 0: the peer port + 1
  std::uint16_t ledger_peer_port = 0;    ///< 0: the peer port + 2
  std::string name = "quiver";
  std::uint32_t lease_s = 3;
  double apply_timeout_s = 2;
  std::uint64_t log_keep_entries = 10'000;
  /// Longer than a machine takes to start again: each replacement copies all that it held.
  std::uint32_t replace_after_s = 600;  ///< 0: never
};

struct PeerAddress {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const PeerAddress&) const = default;
};

/// "host:port", with brackets around an IPv6 address.
[[nodiscard]] std::string peer_text(const PeerAddress& address);
/// True for names and addresses of this machine that others do not reach.
[[nodiscard]] bool is_loopback(const std::string& host);
/// "HOST[:PORT]"; the port is 6335 unless it is given.
[[nodiscard]] Result<PeerAddress> parse_peer(std::string_view text);
/// kInvalidArgument, naming the key, if `peers` has an entry that is none, or one twice.
[[nodiscard]] Result<std::vector<PeerAddress>> parse_peers(const std::string& peers);
/// The texts between commas, without spaces around them.
[[nodiscard]] std::vector<std::string> split_commas(std::string_view text);
/// kInvalidArgument, naming the key, if the settings cannot be those of a node.
[[nodiscard]] Result<> check_cluster(const ClusterSettings& settings);

}  // namespace quiver::app
