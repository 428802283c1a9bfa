// Nodes of a cluster in one process: a ledger in memory, messages by calls, faults on demand.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cluster/ledger/memory_ledger.h"
#include "cluster/node.h"
#include "engine/database.h"
#include "tests/cluster/etcd_for_test.h"
#include "tests/patience.h"

namespace quiver::cluster {

/// Messages reach the nodes by calls, unless one of the two is cut off.
class Network {
 public:
  void connect(const std::string& peer, Node* node) {
    MutexLock lock(mutex_);
    nodes_[peer] = node;
  }
  void set_cut_off(const std::string& peer, bool is_cut_off) {
    MutexLock lock(mutex_);
    cut_off_[peer] = is_cut_off;
  }
  /// Messages that `is_lost` says yes to do not arrive.
  using Filter =
      std::function<bool(const std::string& from, const std::string& to, std::string_view verb)>;
  void set_filter(Filter is_lost) {
    MutexLock lock(mutex_);
    is_lost_ = std::move(is_lost);
  }
  /// Messages to `peer` take this much longer.
  void set_slow(const std::string& peer, std::chrono::milliseconds by) {
    MutexLock lock(mutex_);
    slow_by_[peer] = by;
  }
  /// Messages with this verb wait on their way until the next call; "": none do.
  void hold(std::string verb) {
    MutexLock lock(mutex_);
    held_ = std::move(verb);
    changed_.notify_all();
  }
  [[nodiscard]] bool holds_one() {
    MutexLock lock(mutex_);
    return n_held_ != 0;
  }
  /// Messages that reached `to`.
  int n_sent(const std::string& from, const std::string& to, std::string_view verb) {
    MutexLock lock(mutex_);
    return n_sent_[{from, to, std::string(verb)}];
  }
  /// Waits until no message is on its way to the node.
  void disconnect(const std::string& peer) {
    MutexLock lock(mutex_);
    nodes_[peer] = nullptr;
    while (n_calls_[peer] != 0) changed_.wait(mutex_);
  }

  Result<std::string> call(const std::string& from, const std::string& to, std::string_view verb,
                           std::string_view body) {
    Node* node = nullptr;
    std::chrono::milliseconds slow_by{0};
    {
      MutexLock lock(mutex_);
      const bool is_lost = is_lost_ && is_lost_(from, to, verb);
      if (nodes_[to] == nullptr || cut_off_[from] || cut_off_[to] || is_lost) {
        return fail(Code::kUnavailable, "no way to " + to);
      }
      node = nodes_[to];
      ++n_calls_[to];
      ++n_sent_[{from, to, std::string(verb)}];
      slow_by = slow_by_[to];
      if (held_ == verb) {
        ++n_held_;
        while (held_ == verb) changed_.wait(mutex_);
        --n_held_;
      }
    }
    if (slow_by.count() != 0) std::this_thread::sleep_for(slow_by);
    auto answer = node->answer(verb, body);
    MutexLock lock(mutex_);
    --n_calls_[to];
    changed_.notify_all();
    if (cut_off_[from] || cut_off_[to]) return fail(Code::kUnavailable, "the answer was lost");
    return answer;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Node*> nodes_ QV_GUARDED_BY(mutex_);
  std::map<std::string, bool> cut_off_ QV_GUARDED_BY(mutex_);
  std::map<std::string, int> n_calls_ QV_GUARDED_BY(mutex_);
  std::map<std::tuple<std::string, std::string, std::string>, int> n_sent_ QV_GUARDED_BY(mutex_);
  std::map<std::string, std::chrono::milliseconds> slow_by_ QV_GUARDED_BY(mutex_);
  Filter is_lost_ QV_GUARDED_BY(mutex_);
  std::string held_ QV_GUARDED_BY(mutex_);
  int n_held_ QV_GUARDED_BY(mutex_) = 0;
};

class PeerOfTest final : public PeerClient {
 public:
  PeerOfTest(Network& network, std::string from) : network_(network), from_(std::move(from)) {}
  Result<std::string> call(const std::string& peer, std::string_view verb,
                           std::string_view body) override {
    return network_.call(from_, peer, verb, body);
  }

 private:
  Network& network_;
  const std::string from_;
};

/// A node that can be started, cut off and ended.
class TestNode {
 public:
  TestNode(std::shared_ptr<MemoryLedgerStore> store, Network& network,
           const std::filesystem::path& folder, int number)
      : network_(network),
        address_({"node" + std::to_string(number), "http://node" + std::to_string(number)}),
        ledger_(std::move(store)),
        peers_(network, address_.peer),
        folder_(folder / address_.peer) {}
  ~TestNode() { end(); }

  void start() {
    NodeOptions options;
    options.data_dir = folder_.string();
    std::filesystem::create_directories(folder_);
    options.address = address_;
    options.n_nodes = n_nodes;
    options.lease = std::chrono::seconds(1);
    options.commit_timeout = std::chrono::milliseconds(1500);
    options.log_keep_entries = keep_entries;
    options.replace_after = replace_after;
    auto made = Node::make(options, ledger_, peers_);
    ASSERT_TRUE(made) << made.error().message();
    node_ = *std::move(made);
    engine::DatabaseOptions database;
    database.data_dir = folder_.string();
    database.compute_threads = 1;
    database.replication = &node_->replication();
    auto opened = engine::Database::open(database);
    ASSERT_TRUE(opened) << opened.error().message();
    database_ = *std::move(opened);
    ASSERT_TRUE(node_->start(*database_));
    network_.connect(address_.peer, node_.get());
  }
  /// Without a farewell: the others notice when the lease has run out.
  void end() {
    if (node_ == nullptr) return;
    set_cut_off(true);
    network_.disconnect(address_.peer);
    node_->stop();
    database_.reset();
    node_.reset();
    set_cut_off(false);
  }
  void set_cut_off(bool is_cut_off) {
    ledger_.set_reachable(!is_cut_off);
    network_.set_cut_off(address_.peer, is_cut_off);
  }

  [[nodiscard]] bool runs() const { return node_ != nullptr; }
  [[nodiscard]] Node& node() { return *node_; }
  [[nodiscard]] engine::Database& database() { return node_->database(); }
  /// Without the cluster.
  [[nodiscard]] engine::Database& local() { return *database_; }
  [[nodiscard]] const std::string& peer() const { return address_.peer; }
  [[nodiscard]] MemoryLedger& ledger() { return ledger_; }
  [[nodiscard]] bool leads() const {
    if (node_ == nullptr) return false;
    const auto leader = node_->leader();
    return leader && !*leader;
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  static inline std::uint64_t keep_entries = 10'000;
  static inline std::chrono::milliseconds replace_after{0};
  std::uint32_t n_nodes = 3;  ///< before `start`

 private:
  Network& network_;
  const NodeAddress address_;
  MemoryLedger ledger_;
  PeerOfTest peers_;
  const std::filesystem::path folder_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<engine::Database> database_;
};

class ClusterRig : public ::testing::Test {
 public:
  static constexpr int kNodes = 3;

  void SetUp() override {
    for (int i = 0; i < kNodes; ++i) {
      nodes_.push_back(std::make_unique<TestNode>(store_, network_, folder_.path(), i));
      nodes_.back()->start();
    }
    ASSERT_TRUE(comes_true([&] { return leader() != nullptr && n_active() == kNodes; }));
  }
  void TearDown() override { nodes_.clear(); }

  /// nullptr: nobody leads now.
  [[nodiscard]] TestNode* leader() {
    for (const auto& node : nodes_) {
      if (node->leads()) return node.get();
    }
    return nullptr;
  }
  [[nodiscard]] TestNode* follower() {
    for (const auto& node : nodes_) {
      if (node->runs() && !node->leads()) return node.get();
    }
    return nullptr;
  }
  /// Of a collection; nullptr: nobody leads it now.
  [[nodiscard]] TestNode* leader_of(const std::string& name) {
    for (const auto& node : nodes_) {
      if (!node->runs() || !node->local().exists(name)) continue;
      const auto leader = node->node().leader_of(name);
      if (leader && !*leader) return node.get();
    }
    return nullptr;
  }
  /// By the node that leads the collection.
  [[nodiscard]] Result<> update_anywhere(const std::string& name, engine::Operation operation) {
    TestNode* leads = leader_of(name);
    if (leads == nullptr) return fail(Code::kUnavailable, "nobody leads");
    return update(leads->database(), name, std::move(operation));
  }
  /// As the leader sees it.
  [[nodiscard]] int n_active() {
    int n = 0;
    const auto* leads = leader();
    if (leads == nullptr) return 0;
    for (const auto& member : leader()->node().view().members) n += member.is_active ? 1 : 0;
    return n;
  }

  /// `idle`: what it takes at most on an idle machine.
  [[nodiscard]] static Result<> update(
      engine::Database& database, const std::string& name, engine::Operation operation,
      std::chrono::duration<double> idle = std::chrono::seconds(1)) {
    auto answer = std::make_shared<std::promise<Result<>>>();
    auto done = answer->get_future();
    QV_TRY(const auto collection, database.collection(name));
    QV_TRY(collection->update({std::move(operation)}, engine::Ack::kVisible,
                              [answer](Result<std::vector<engine::UpdateResult>> result) {
                                answer->set_value(result ? Result<>() : fail(result.error()));
                              }));
    if (done.wait_for(patience(idle)) != std::future_status::ready) {
      return fail(Code::kDeadlineExceeded, "no answer in time");
    }
    return done.get();
  }
  [[nodiscard]] static engine::Upsert point(std::uint64_t id, const std::string& value) {
    engine::PointInput input;
    input.id = PointId::number(id);
    input.vectors = {{"", std::vector<float>{1, static_cast<float>(id)}}};
    input.payload = R"({"value":")" + value + R"("})";
    engine::Upsert upsert;
    upsert.points = {std::move(input)};
    return upsert;
  }
  [[nodiscard]] static engine::CollectionConfig config(std::uint32_t n_shards = 2) {
    engine::CollectionConfig config;
    config.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    config.shard_number = n_shards;
    return config;
  }
  /// Of a collection that is on so many nodes.
  [[nodiscard]] static engine::CollectionConfig placed_config(int factor,
                                                              std::uint32_t n_shards = 2) {
    auto placed = config(n_shards);
    placed.client_settings =
        R"({"replication_factor":)" + std::to_string(factor) + R"(,"shards_together":true})";
    return placed;
  }
  /// The same, each shard on nodes of its own.
  [[nodiscard]] static engine::CollectionConfig spread_config(int factor, std::uint32_t n_shards) {
    auto spread = config(n_shards);
    spread.client_settings = R"({"replication_factor":)" + std::to_string(factor) + "}";
    return spread;
  }
  /// Payloads by id; empty if the collection is not there.
  [[nodiscard]] static std::map<std::uint64_t, std::string> points(engine::Database& database,
                                                                   const std::string& name) {
    std::map<std::uint64_t, std::string> found;
    const auto collection = database.collection(name);
    if (!collection) return found;
    engine::ScrollRequest all;
    all.limit = 1'000'000;
    const auto page = (*collection)->scroll(all, Cancel());
    EXPECT_TRUE(page) << page.error().message();
    for (const auto& record : page->points) {
      found[record.id.low()] = record.payload.value_or("");
    }
    return found;
  }

 protected:
  TestFolder folder_;
  std::shared_ptr<MemoryLedgerStore> store_ = std::make_shared<MemoryLedgerStore>();
  Network network_;
  std::vector<std::unique_ptr<TestNode>> nodes_;
};

}  // namespace quiver::cluster
