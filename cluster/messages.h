// Messages between nodes, as bytes: docs/formats/peer.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/node.h"
#include "engine/model/replication.h"

namespace quiver::cluster {

/// The verbs of the peer API.
inline constexpr std::string_view kStoreBodies = "bodies";
inline constexpr std::string_view kApplyCommitted = "committed";
inline constexpr std::string_view kGetBody = "body";
inline constexpr std::string_view kGetApplied = "applied";
inline constexpr std::string_view kRefresh = "refresh";
inline constexpr std::string_view kWake = "wake";     ///< as kRefresh, not waiting
inline constexpr std::string_view kGetSeen = "seen";  ///< -> revision of the last look
inline constexpr std::string_view kStageRestore = "restore-stage";  ///< id, name, peer -> 0 or 1
inline constexpr std::string_view kRestore = "restore";  ///< id, name, peer -> state, code, text
/// The id of the cluster that the node belongs to; empty: none yet.
inline constexpr std::string_view kGetCluster = "cluster";

/// A question about a part of a collection: cluster/parts/part_calls.h.
inline constexpr std::string_view kPartCall = kPartCallVerb;

/// An entry of a shard; the body is empty where a message only names it.
struct NamedEntry {
  engine::ShardName shard;
  engine::EntryId id;
  std::string body = {};
};

/// Appends one entry to a message.
void append_entry(const engine::ShardName& shard, const engine::EntryId& id, std::string_view body,
                  std::string& out);
/// kInvalidArgument if `message` is no list of entries.
[[nodiscard]] Result<std::vector<NamedEntry>> read_entries(std::string_view message);

[[nodiscard]] std::string join_texts(const std::vector<std::string>& texts);
/// kInvalidArgument if `message` has not `n` texts.
[[nodiscard]] Result<std::vector<std::string>> read_texts(std::string_view message, std::size_t n);

void append_number(std::uint64_t number, std::string& out);
[[nodiscard]] Result<std::vector<std::uint64_t>> read_numbers(std::string_view message);

}  // namespace quiver::cluster
