// Names and places of snapshots, and what a start removes.
#include "engine/backup/shelf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine/backup/folder.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;

class ShelfTest : public ::testing::Test {
 protected:
  ShelfTest()
      : root_(fs::path(::testing::TempDir()) / ("quiver_shelf_" + std::to_string(getpid()))),
        snapshots_(root_ / "new" / "snapshots"),
        shelf_(snapshots_.string(), (root_ / "work").string()) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~ShelfTest() override { fs::remove_all(root_); }

  Result<SnapshotDescription> keep(const SnapshotScope& scope) {
    QV_TRY(const auto draft, shelf_.new_draft());
    std::ofstream(files_of_folder(draft->path()) + "/file") << "bytes";
    SnapshotManifest manifest;
    manifest.kind = SnapshotKind::kCollection;
    manifest.collections.push_back({scope.collection, "", "{}", {}});
    QV_TRY(write_new_manifest(draft->path(), manifest));
    return shelf_.keep(scope, *draft, 1'900'000'000);
  }

  const fs::path root_;
  const fs::path snapshots_;
  SnapshotShelf shelf_;
};

TEST_F(ShelfTest, LongNamesAreCut) {
  std::string umlauts = "x";
  while (umlauts.size() < 255) umlauts += "\xC3\xA4";
  for (const std::string& name : {std::string(255, 'n'), std::string(255, 'm'), umlauts}) {
    const SnapshotScope scope{name, {}};
    for (int i = 0; i < 3; ++i) {
      const auto kept = keep(scope);
      ASSERT_TRUE(kept) << kept.error().to_string();
      EXPECT_LE(kept->name.size(), 240U);
      EXPECT_TRUE(shelf_.find(scope, kept->name));
    }
    const auto listed = shelf_.list(scope);
    ASSERT_EQ(listed->size(), 3U);
    EXPECT_TRUE(shelf_.remove(scope, listed->front().name));
  }
  const SnapshotScope shard{std::string(255, 'n'), 1234};
  EXPECT_TRUE(keep(shard));
}

TEST_F(ShelfTest, TheStartRemovesWhatIsUnfinishedAndNothingElse) {
  const auto kept = keep({"points", {}}).value();
  const fs::path folder = snapshots_ / "points" / kept.name;
  // As a crash leaves them: renamed with a manifest, or copied whole and not renamed yet.
  const auto removed = fs::path(folder.string() + "*removed");
  const auto partial = fs::path(folder.string() + "*partial");
  fs::copy(folder, removed, fs::copy_options::recursive);
  fs::copy(folder, partial, fs::copy_options::recursive);
  // Collections may be called like this.
  for (const std::string name : {"a.snapshot.partial", "a.snapshot.removed", "a.snapshot"}) {
    ASSERT_TRUE(keep({name, {}}));
  }
  ASSERT_TRUE(shelf_.start());
  EXPECT_FALSE(fs::exists(removed));
  EXPECT_FALSE(fs::exists(partial));
  for (const std::string name :
       {"points", "a.snapshot.partial", "a.snapshot.removed", "a.snapshot"}) {
    EXPECT_EQ(shelf_.list({name, {}})->size(), 1U) << name;
  }
}

TEST_F(ShelfTest, ReadingMakesNoFolder) {
  const std::string gone = (snapshots_ / "points" / "gone.snapshot").string();
  const auto manifest = read_snapshot_manifest(gone);
  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.error().code(), Code::kNotFound);
  EXPECT_FALSE(read_archive_facts(gone));
  EXPECT_TRUE(shelf_.list({"points", {}})->empty());
  EXPECT_FALSE(fs::exists(snapshots_));
}

/// A damaged file is found in the one pass that copies it.
TEST_F(ShelfTest, UnfoldingComparesChecksums) {
  const auto kept = keep({"points", {}}).value();
  const std::string folder = (snapshots_ / "points" / kept.name).string();
  ASSERT_TRUE(complete_folder(folder, [] { return Result<>(); }));
  const auto manifest = read_snapshot_manifest(folder).value();
  const fs::path good = root_ / "good";
  fs::create_directories(good);
  ASSERT_TRUE(unfold(folder, manifest, "", good.string(), Sharing::kCopies));
  std::ifstream copied(good / "file");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(copied), {}), "bytes");
  for (const std::string wrong : {"bytez", "byte", "bytes and more"}) {
    std::ofstream(files_of_folder(folder) + "/file") << wrong;
    const fs::path target = root_ / ("bad " + wrong);
    fs::create_directories(target);
    const auto unfolded = unfold(folder, manifest, "", target.string(), Sharing::kCopies);
    ASSERT_FALSE(unfolded) << wrong;
    EXPECT_EQ(unfolded.error().code(), Code::kInvalidArgument);
    EXPECT_NE(unfolded.error().message().find("the snapshot is damaged"), std::string::npos);
  }
}

}  // namespace
}  // namespace quiver::engine
