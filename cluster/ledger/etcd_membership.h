// How a member of etcd that has no data yet joins the others: as a founder, or in the place of one
// whose data is lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/ledger/etcd_gateway.h"

namespace quiver::cluster::etcd {

/// `--initial-cluster-state` of etcd: `new` founds a cluster, `existing` joins one.
enum class InitialState : std::uint8_t { kNew, kExisting };

/// What etcd lists about a member.
struct ListedMember {
  std::uint64_t id = 0;
  std::string name = {};  ///< empty: it was added and has not started yet
  std::vector<std::string> peer_urls = {};
  std::vector<std::string> client_urls = {};  ///< empty: it has never served
};
/// The members in an answer to `/v3/cluster/member/list`.
[[nodiscard]] Result<std::vector<ListedMember>> read_members(const payload::Value& answer);

/// What a member without data must do to join.
enum class Joining : std::uint8_t {
  kFound,    ///< start with `new`: it is a founder that has not started yet
  kStart,    ///< start with `existing`: it was added
  kAdd,      ///< be added, then start with `existing`
  kReplace,  ///< be removed and added, then start: it served once, so its data is lost
};
[[nodiscard]] Joining how_to_join(const std::vector<ListedMember>& members,
                                  std::string_view peer_url);

/// True if etcd has written a log in this folder: it then knows by itself what it is.
[[nodiscard]] bool has_data(const std::filesystem::path& data_dir);

/// Asks the other members for the list, and removes and adds the member of `peer_url` as needed.
/// Its votes are lost with its data, so it must not come back under its old id. If no other member
/// answers, it is a founder, if `may_found` says so. Errors: not now.
[[nodiscard]] Result<InitialState> prepare_to_join(Gateway& others, const std::string& peer_url,
                                                   const std::function<Result<>()>& may_found);

}  // namespace quiver::cluster::etcd
