#include "app/cluster/balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "app/cluster/answer.h"
#include "app/cluster/requests.h"

namespace quiver::app {
namespace {

using payload::Value;
using Clock = std::chrono::steady_clock;
using Loads = std::map<std::uint64_t, std::uint64_t>;  // bytes of each node

constexpr std::size_t kMovesAtOnce = 2;
/// A move is worth this share of the mean load.
constexpr std::uint64_t kLeastGain = 20;
constexpr double kMiB = 1 << 20;

bool contains(const std::vector<std::uint64_t>& nodes, std::uint64_t node) {
  return std::ranges::find(nodes, node) != nodes.end();
}

/// By how much the fuller of the two nodes is emptier after the move; 0: it is not.
std::uint64_t gain_of(const Loads& loads, const BalancingMove& move) {
  const std::uint64_t before = loads.at(move.from);
  const std::uint64_t after = std::max(before - move.n_bytes, loads.at(move.to) + move.n_bytes);
  return after < before ? before - after : 0;
}

std::optional<BalancingMove> best_move(const ClusterLayout& layout, const Loads& loads,
                                       const std::set<std::string>& moved, std::uint64_t least) {
  std::optional<BalancingMove> best;
  for (const auto& collection : layout.collections) {
    if (collection.is_moving || moved.contains(collection.name)) continue;
    for (const std::uint64_t from : collection.nodes) {
      if (!loads.contains(from)) continue;
      for (const std::uint64_t to : layout.nodes) {
        if (contains(collection.nodes, to)) continue;
        BalancingMove move{collection.name, from, to, collection.n_bytes};
        if (gain_of(loads, move) < least) continue;
        const auto rank = [&](const BalancingMove& one) {
          return std::pair(gain_of(loads, one), UINT64_MAX - one.n_bytes);
        };
        if (!best || rank(move) > rank(*best)) best = std::move(move);
      }
    }
  }
  return best;
}

/// "docs/0" is shard 0 of `docs`: names of collections have no slash.
struct ShardOf {
  std::string collection;
  std::string shard;  ///< empty: all
};
ShardOf parse_name(const std::string& name) {
  const auto slash = name.find('/');
  if (slash == std::string::npos) return {name, ""};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

/// Of shards with nodes of their own all have about as many.
Result<std::uint64_t> bytes_of(client::ServerConnection& server, const ClusterLayout& layout,
                               const std::string& name) {
  const std::string collection = parse_name(name).collection;
  const auto n_parts = std::ranges::count_if(layout.collections, [&](const auto& other) {
    return parse_name(other.name).collection == collection;
  });
  const auto path = fmt::format("/collections/{}/memory", client::escape_segment(collection));
  QV_TRY(const std::string body, ask_patiently(server, "GET", path));
  QV_TRY(const Value answer, payload::parse_json(body));
  const Value* result = answer.find("result");
  const Value* total = result == nullptr ? nullptr : result->find("total");
  if (total == nullptr) return fail(Code::kInvalidArgument, "the answer names no bytes");
  return (total->find_unsigned("disk_bytes").value_or(0) +
          total->find_unsigned("ram_bytes").value_or(0)) /
         static_cast<std::uint64_t>(n_parts);
}

Result<ClusterLayout> fetch_layout(client::ServerConnection& server) {
  QV_TRY(const std::string body, ask_node(server, "GET", "/cluster"));
  return parse_layout(body);
}

std::string describe(const BalancingMove& move) {
  return fmt::format("collection `{}` ({:.1f} MiB) from node {} to node {}", move.collection,
                     static_cast<double>(move.n_bytes) / kMiB, move.from, move.to);
}

/// Any of them: all move together. kNotFound if there is none.
Result<std::uint64_t> shard_of(client::ServerConnection& server, const std::string& path) {
  QV_TRY(const std::string body, ask_patiently(server, "GET", path));
  QV_TRY(const Value answer, payload::parse_json(body));
  for (const std::string_view name : {"local_shards", "remote_shards"}) {
    const payload::Array* shards = rows_in(answer, name);
    if (shards == nullptr || shards->empty()) continue;
    if (const auto id = shards->front().find_unsigned("shard_id")) return *id;
  }
  return fail(Code::kNotFound, "it has no shards");
}

Result<> begin(client::ServerConnection& server, const BalancingMove& move) {
  const auto [collection, number] = parse_name(move.collection);
  const auto path = fmt::format("/collections/{}/cluster", client::escape_segment(collection));
  std::string shard = number;
  if (shard.empty()) {
    QV_TRY(const std::uint64_t any, shard_of(server, path));
    shard = std::to_string(any);
  }
  const auto body =
      fmt::format(R"({{"move_shard":{{"shard_id":{},"from_peer_id":{},"to_peer_id":{}}}}})", shard,
                  move.from, move.to);
  QV_TRY(ask_patiently(server, "POST", path, body));
  print_line("moving " + describe(move));
  return {};
}

/// The moves of one run.
class Mover {
 public:
  Mover(client::ServerConnection& server, std::vector<BalancingMove> moves)
      : server_(server), left_(std::move(moves)) {
    std::ranges::reverse(left_);  // the next one is the last
  }

  Result<> run() {
    auto heard = Clock::now();
    while (true) {
      begin_some();
      if (on_their_way_.empty()) break;
      std::this_thread::sleep_for(kPollInterval);
      const auto now = fetch_layout(server_);
      if (!now && Clock::now() - heard > kSilencePatience) return fail(now.error());
      if (!now) continue;
      heard = Clock::now();
      std::erase_if(on_their_way_, [&](Begun& begun) { return is_over(*now, begun); });
    }
    if (n_failed_ == 0) return {};
    return fail(Code::kFailedPrecondition, fmt::format("moves that were not made: {}", n_failed_));
  }

 private:
  struct Begun {
    BalancingMove move;
    Clock::time_point since;  ///< when it was last seen to go on
  };

  void begin_some() {
    while (!left_.empty() && on_their_way_.size() < kMovesAtOnce) {
      const auto begun = begin(server_, left_.back());
      if (begun) {
        on_their_way_.push_back({left_.back(), Clock::now()});
      } else {
        give_up(left_.back(), begun.error().message());
      }
      left_.pop_back();
    }
  }
  void give_up(const BalancingMove& move, const std::string& why) {
    ++n_failed_;
    print_line(fmt::format("{}: {}", describe(move), why));
  }

  /// A node that copies looks at the ledger late, so what it says of other moves may be old.
  bool is_over(const ClusterLayout& now, Begun& begun) {
    const auto found =
        std::ranges::find(now.collections, begun.move.collection, &PlacedCollection::name);
    if (found == now.collections.end()) return true;  // dropped
    const auto& nodes = found->nodes;
    const bool has_moved = contains(nodes, begun.move.to) && !contains(nodes, begun.move.from);
    if (has_moved && !found->is_moving) return true;
    if (found->is_moving && found->trouble.empty()) begun.since = Clock::now();
    if (Clock::now() - begun.since < kSilencePatience) return false;
    give_up(begun.move, found->trouble.empty() ? "it was given up" : found->trouble);
    return true;
  }

  client::ServerConnection& server_;
  std::vector<BalancingMove> left_;
  std::vector<Begun> on_their_way_;
  std::size_t n_failed_ = 0;
};

}  // namespace

Result<ClusterLayout> parse_layout(std::string_view body) {
  QV_TRY(const Value answer, payload::parse_json(body));
  const payload::Array* nodes = rows_in(answer, "nodes");
  if (nodes == nullptr) return no_nodes();
  ClusterLayout layout;
  for (const Value& node : *nodes) {
    const bool is_fit =
        is_true(node, "alive") && is_true(node, "active") && node.find("draining") == nullptr;
    if (is_fit) layout.nodes.push_back(node.find_unsigned("peer_id").value_or(0));
  }
  const payload::Array* placements = rows_in(answer, "placements");
  if (placements == nullptr) return layout;
  for (const Value& row : *placements) {
    PlacedCollection collection{placed_name(row), {}};
    const Value* replicas = row.find("replicas");
    const payload::Array* of_row = replicas == nullptr ? nullptr : replicas->as_array();
    for (const Value& replica : of_row == nullptr ? payload::Array() : *of_row) {
      collection.nodes.push_back(replica.find_unsigned("peer_id").value_or(0));
      collection.is_moving = collection.is_moving || text_member(replica, "state") != "active";
    }
    collection.trouble = text_member(row, "trouble");
    layout.collections.push_back(std::move(collection));
  }
  return layout;
}

std::vector<BalancingMove> plan_moves(const ClusterLayout& layout) {
  Loads loads;
  for (const std::uint64_t node : layout.nodes) loads[node] = 0;
  std::uint64_t sum = 0;
  for (const auto& collection : layout.collections) {
    for (const std::uint64_t node : collection.nodes) {
      const auto load = loads.find(node);
      if (load == loads.end()) continue;
      load->second += collection.n_bytes;
      sum += collection.n_bytes;
    }
  }
  std::vector<BalancingMove> moves;
  if (loads.empty()) return moves;
  const std::uint64_t least = std::max<std::uint64_t>(1, sum / loads.size() / kLeastGain);
  std::set<std::string> moved;
  while (auto move = best_move(layout, loads, moved, least)) {
    loads[move->from] -= move->n_bytes;
    loads[move->to] += move->n_bytes;
    moved.insert(move->collection);
    moves.push_back(*std::move(move));
  }
  return moves;
}

Result<> run_cluster_balance(const ClusterStatusOptions& options) {
  QV_TRY(const auto server, connect_to(options));
  QV_TRY(auto layout, fetch_layout(*server));
  for (auto& collection : layout.collections) {
    QV_TRY(collection.n_bytes, bytes_of(*server, layout, collection.name));
  }
  const auto moves = plan_moves(layout);
  if (moves.empty()) {
    print_line("nothing to move: no move of one collection makes the nodes more even");
    return {};
  }
  if (options.only_prints) {
    for (const auto& move : moves) print_line("would move " + describe(move));
    return {};
  }
  QV_TRY(Mover(*server, moves).run());
  print_line(fmt::format("done, moves: {}", moves.size()));
  return {};
}

}  // namespace quiver::app
