// Copies of collections are sent as they are read, however long that takes, and damaged replicas
// are replaced by copies.
#include "cluster/copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "cluster/messages.h"
#include "tests/cluster/cluster_rig.h"

namespace quiver::cluster {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint64_t kArchiveBytes = std::uint64_t{20} << 20;

/// Byte i of an archive is i modulo 251. Counts what is read.
class CountingReader final : public engine::SnapshotReader {
 public:
  explicit CountingReader(std::uint64_t& n_read) : n_read_(n_read) {}
  [[nodiscard]] std::uint64_t size_bytes() const override { return kArchiveBytes; }
  [[nodiscard]] Result<std::size_t> read(std::uint64_t offset, std::span<char> out) override {
    const auto n = std::min<std::uint64_t>({out.size(), kArchiveBytes - offset, 100'000});
    for (std::uint64_t i = 0; i < n; ++i) out[i] = static_cast<char>((offset + i) % 251);
    n_read_ += n;
    return n;
  }

 private:
  std::uint64_t& n_read_;
};

class ReceiverOfTest final : public engine::SnapshotReceiver {
 public:
  explicit ReceiverOfTest(std::string& received) : received_(received) {}
  [[nodiscard]] Result<> write(std::string_view bytes) override {
    received_ += bytes;
    return {};
  }
  [[nodiscard]] Result<engine::CollectionConfig> check() override {
    engine::CollectionConfig config;
    config.cluster_id = "c1";
    return config;
  }
  [[nodiscard]] Result<> finish() override { return {}; }

 private:
  std::string& received_;
};

/// Only what copies need.
class SnapshotsOfTest final : public engine::Snapshots {
 public:
  using Scope = engine::SnapshotScope;
  using Description = engine::SnapshotDescription;
  using Reader = std::unique_ptr<engine::SnapshotReader>;

  [[nodiscard]] Result<> check_scope(const Scope&) override { return {}; }
  [[nodiscard]] Result<Description> create(const Scope&) override { return none(); }
  [[nodiscard]] Result<Description> complete(const Scope&, const std::string&,
                                             const Cancel&) override {
    return none();
  }
  [[nodiscard]] Result<std::vector<Description>> list(const Scope&) override { return none(); }
  [[nodiscard]] Result<> remove(const Scope&, const std::string&) override { return none(); }
  [[nodiscard]] Result<Reader> open(const Scope&, const std::string&) override { return none(); }
  [[nodiscard]] Result<Reader> stream(const Scope&) override {
    return std::make_unique<CountingReader>(n_read);
  }
  [[nodiscard]] Result<> recover(const Scope&, const std::string&, const std::string&) override {
    return none();
  }
  [[nodiscard]] Result<std::unique_ptr<engine::SnapshotReceiver>> receive(
      const Scope&, const std::string&) override {
    return std::make_unique<ReceiverOfTest>(received);
  }
  [[nodiscard]] Result<std::string> folder_of(const Scope&, const std::string&) override {
    return none();
  }
  [[nodiscard]] Result<std::vector<std::string>> restore_storage(const std::string&) override {
    return none();
  }

  std::uint64_t n_read = 0;
  std::string received;

 private:
  static tl::unexpected<Error> none() { return fail(Code::kUnimplemented, "not in this test"); }
};

/// Asks a `CopySource` directly, and notes how much is read for one answer at most.
class PeerWithCopies final : public PeerClient {
 public:
  PeerWithCopies(CopySource& source, SnapshotsOfTest& snapshots)
      : source_(source), snapshots_(snapshots) {}
  Result<std::string> call(const std::string&, std::string_view verb,
                           std::string_view body) override {
    const std::uint64_t before = snapshots_.n_read;
    auto answer = source_.answer(verb, body, snapshots_);
    const std::uint64_t n_read = snapshots_.n_read - before;
    if (verb == kOpenCopy) n_read_at_opening += n_read;
    most_read_for_an_answer = std::max(most_read_for_an_answer, n_read);
    return answer;
  }

  std::uint64_t n_read_at_opening = 0;
  std::uint64_t most_read_for_an_answer = 0;

 private:
  CopySource& source_;
  SnapshotsOfTest& snapshots_;
};

TEST(CopiesTest, NoAnswerWaitsForTheWholeArchive) {
  CopySource source;
  SnapshotsOfTest snapshots;
  PeerWithCopies peers(source, snapshots);
  ASSERT_TRUE(
      fetch_copy(peers, "http://node1", "docs", "c1", snapshots, [] { return Result<>(); }));
  EXPECT_EQ(peers.n_read_at_opening, 0U);
  EXPECT_LE(peers.most_read_for_an_answer, std::uint64_t{8} << 20);
  ASSERT_EQ(snapshots.received.size(), kArchiveBytes);
  for (std::uint64_t i = 0; i < kArchiveBytes; i += 997) {
    ASSERT_EQ(snapshots.received[i], static_cast<char>(i % 251)) << i;
  }
}

class DamagedReplicaTest : public ClusterRig {
 protected:
  /// Of the logs of rows, which are not in tables yet.
  static int damage_logs(const fs::path& folder) {
    int n_damaged = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder / "collections")) {
      if (entry.path().extension() != ".log" || entry.file_size() < 4000) continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
      file << "damage, damage";
      ++n_damaged;
    }
    return n_damaged;
  }
};

TEST_F(DamagedReplicaTest, IsNotRepairedButCopied) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config(1)));
  for (std::uint64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(update(leader()->database(), "docs", point(i, "a")));
  }
  const auto expected = points(leader()->database(), "docs");
  TestNode* damaged = follower();
  ASSERT_TRUE(comes_true([&] { return points(damaged->database(), "docs") == expected; }));
  damaged->end();
  ASSERT_GT(damage_logs(damaged->folder()), 0);
  {
    engine::DatabaseOptions options;
    options.data_dir = damaged->folder().string();
    const auto alone = engine::Database::open(options);
    ASSERT_TRUE(alone) << alone.error().message();
    const auto refused = (*alone)->repair("docs");
    ASSERT_FALSE(refused) << "it would differ from the other nodes without a word";
    EXPECT_EQ(refused.error().code(), Code::kFailedPrecondition);
    EXPECT_THAT(refused.error().message(), HasSubstr("belongs to a cluster"));
    EXPECT_FALSE((*alone)->check("docs")->at(0).rows.empty()) << "nothing was changed";
  }
  const fs::path saved = damaged->folder().string() + "-saved";
  fs::rename(damaged->folder(), saved);
  damaged->start();
  EXPECT_TRUE(comes_true([&] { return points(damaged->database(), "docs") == expected; }));
  EXPECT_TRUE(comes_true([&] { return n_active() == kNodes; }));

  // If no other node had the points.
  engine::DatabaseOptions options;
  options.data_dir = saved.string();
  const auto alone = engine::Database::open(options);
  ASSERT_TRUE(alone) << alone.error().message();
  ASSERT_TRUE((*alone)->leave_cluster("docs"));
  const auto repaired = (*alone)->repair("docs");
  ASSERT_TRUE(repaired) << repaired.error().message();
  EXPECT_TRUE(repaired->at(0));
  const auto collection = (*alone)->collection("docs");
  ASSERT_TRUE(collection) << collection.error().message();
  EXPECT_EQ((*collection)->config()->cluster_id, "");
  ASSERT_TRUE(update(**alone, "docs", point(1000, "b")));
  EXPECT_GT(points(**alone, "docs").size(), 1U);
}

/// Somebody has changed what a node holds, while it was down: its rows cannot follow the others.
TEST_F(DamagedReplicaTest, ACollectionThatCannotFollowIsReplacedByACopy) {
  ASSERT_TRUE(leader()->database().create_collection("docs", config(1)));
  ASSERT_TRUE(update(leader()->database(), "docs", point(1, "a")));
  TestNode* changed = follower();
  ASSERT_TRUE(comes_true([&] { return points(changed->database(), "docs").size() == 1; }));
  changed->end();
  const auto add = [](engine::Database& database, const std::string& name) {
    return database.update_config("docs", [&](engine::CollectionConfig& its) {
      return engine::add_field(
          its, {name, FieldKind::kDense, 3, DType::kF32, Metric::kDot, SparseModifier::kNone});
    });
  };
  {
    engine::DatabaseOptions options;
    options.data_dir = changed->folder().string();
    const auto alone = engine::Database::open(options);
    ASSERT_TRUE(alone) << alone.error().message();
    ASSERT_TRUE(add(**alone, "wrong"));
    ASSERT_TRUE((*alone)->close());
  }
  ASSERT_TRUE(add(leader()->database(), "right"));
  changed->start();
  ASSERT_TRUE(update(leader()->database(), "docs", point(2, "b")));
  const auto expected = points(leader()->database(), "docs");
  EXPECT_TRUE(comes_true([&] { return points(changed->database(), "docs") == expected; }));
  EXPECT_TRUE(comes_true([&] {
    const auto collection = changed->database().collection("docs");
    return collection && (*collection)->config()->fields.at(1).name == "right";
  }));
}

}  // namespace
}  // namespace quiver::cluster
