// Folders, archives and back: the same files, or an error.
#include "engine/backup/unpacker.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "base/io/file_tree.h"
#include "engine/backup/folder.h"
#include "engine/backup/layout.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

class UnpackerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / ("quiver_unpacker_" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  [[nodiscard]] Files read(const fs::path& root) const {
    Files files;
    const auto found = files_below(root).value();
    for (const auto& file : found) {
      std::ifstream in(root / file.path, std::ios::binary);
      using Iterator = std::istreambuf_iterator<char>;
      files[file.path] = std::string(Iterator(in), Iterator());
    }
    return files;
  }
  /// A complete folder with files of every length around a block's.
  std::string new_folder(const Files& files) {
    const fs::path folder = root_ / "folder";
    for (const auto& [path, text] : files) write(folder / "files" / path, text);
    SnapshotManifest manifest;
    manifest.collections.push_back({"name", "", "{}", {{0, Seq{7}}}});
    EXPECT_TRUE(write_new_manifest(folder, manifest));
    EXPECT_EQ(read_archive_facts(folder)->sha256, "");
    const std::uint64_t size = read_archive_facts(folder)->size_bytes;
    EXPECT_EQ(complete_folder(folder, [] { return Result<>(); })->size_bytes, size)
        << "known before the checksums are";
    return folder;
  }
  [[nodiscard]] fs::path unsummed_folder(const Files& files) {
    fs::path folder = root_ / "unsummed";
    fs::remove_all(folder);
    for (const auto& [path, text] : files) write(folder / "files" / path, text);
    SnapshotManifest manifest;
    manifest.collections.push_back({"name", "", "{}", {{0, Seq{7}}}});
    EXPECT_TRUE(write_new_manifest(folder, manifest));
    return folder;
  }
  static std::string archive_of(const std::string& folder) {
    const auto reader = open_folder(folder).value();
    std::string bytes(reader->size_bytes(), '\0');
    EXPECT_EQ(reader->read(0, bytes).value(), bytes.size());
    return bytes;
  }
  Result<SnapshotManifest> unpack(std::string_view bytes, std::string_view sha256 = "",
                                  std::size_t piece_bytes = 1 << 20) {
    target_ = root_ / ("target" + std::to_string(n_targets_++));
    fs::create_directories(target_);
    Unpacker unpacker(target_);
    for (std::size_t at = 0; at < bytes.size(); at += piece_bytes) {
      QV_TRY(unpacker.write(bytes.substr(at, piece_bytes)));
    }
    return unpacker.finish(sha256);
  }

  const Files files_ = {{"shard-0/rows/CURRENT", "x"},
                        {"shard-0/rows/empty", ""},
                        {"shard-0/rows/block", std::string(512, 'b')},
                        {"shard-0/segments/1/rows.qvs", std::string(1500, 'r')}};
  fs::path root_;
  fs::path target_;
  int n_targets_ = 0;
};

TEST_F(UnpackerTest, FilesComeBack) {
  const std::string folder = new_folder(files_);
  const std::string bytes = archive_of(folder);
  const auto facts = complete_folder(folder, [] { return Result<>(); }).value();
  for (const std::size_t piece : {1U, 511U, 512U, 513U, 1'000'000U}) {
    const auto manifest = unpack(bytes, facts.sha256, piece);
    ASSERT_TRUE(manifest) << manifest.error().message();
    EXPECT_EQ(read(target_), files_);
    EXPECT_EQ(manifest->collections.front().shards.front().seq, Seq{7});
  }
  const auto manifest = read_snapshot_manifest(folder).value();
  const fs::path linked = root_ / "linked";
  fs::create_directories(linked);
  ASSERT_TRUE(unfold(folder, manifest, "shard-0/", linked, Sharing::kLinks));
  EXPECT_EQ(read(linked).at("segments/1/rows.qvs"), files_.at("shard-0/segments/1/rows.qvs"));
  EXPECT_TRUE(fs::equivalent(linked / "rows/block", linked / "rows/block"));
  EXPECT_FALSE(
      fs::equivalent(linked / "rows/CURRENT", fs::path(folder) / "files/shard-0/rows/CURRENT"))
      << "files that may change are copied";
}

TEST_F(UnpackerTest, EveryPartOfAnArchiveCanBeReadAlone) {
  const std::string folder = new_folder(files_);
  const std::string bytes = archive_of(folder);
  const auto reader = open_folder(folder).value();
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    const std::size_t first = random() % bytes.size();
    std::string part(1 + random() % (bytes.size() - first), '\0');
    ASSERT_EQ(reader->read(first, part).value(), part.size());
    ASSERT_EQ(part, bytes.substr(first, part.size())) << first;
  }
}

TEST_F(UnpackerTest, ANewFolderIsTheSameArchiveBeforeItsChecksumsAreKnown) {
  Files without_empty = files_;
  without_empty.erase("shard-0/rows/empty");
  for (const Files& files : {files_, without_empty}) {
    fs::remove_all(root_ / "folder");
    const std::string bytes = archive_of(new_folder(files));
    const fs::path folder = unsummed_folder(files);
    ASSERT_FALSE(open_folder(folder)) << "it has no checksums";
    for (const std::size_t piece : {1U, 511U, 700U, 1'000'000U}) {
      const auto reader = open_new_folder(folder).value();
      ASSERT_EQ(reader->size_bytes(), bytes.size());
      std::string read;
      std::string part(piece, '\0');
      while (const std::size_t n = reader->read(read.size(), part).value()) {
        read += part.substr(0, n);
      }
      EXPECT_EQ(read, bytes) << "in pieces of " << piece;
    }
    const auto reader = open_new_folder(folder).value();  // anywhere, and again
    std::mt19937_64 random(3);
    for (int i = 0; i < 300; ++i) {
      const std::size_t first = random() % bytes.size();
      std::string part(1 + random() % (bytes.size() - first), '\0');
      const std::size_t n = reader->read(first, part).value();
      ASSERT_GT(n, 0U);
      ASSERT_EQ(part.substr(0, n), bytes.substr(first, n)) << first;
    }
  }
}

TEST_F(UnpackerTest, OpeningANewFolderReadsNoFile) {
  const fs::path folder = unsummed_folder(files_);
  fs::remove(folder / "files/shard-0/rows/block");
  const auto late = open_new_folder(folder);
  ASSERT_TRUE(late) << late.error().message();
  std::string all((*late)->size_bytes(), '\0');
  EXPECT_FALSE((*late)->read(0, all));
}

TEST_F(UnpackerTest, CutArchivesAreRefused) {
  const std::string bytes = archive_of(new_folder(files_));
  for (std::size_t n = 0; n + 512 < bytes.size(); n += 97) {
    EXPECT_FALSE(unpack(std::string_view(bytes).substr(0, n))) << n;
  }
}

TEST_F(UnpackerTest, AFlippedBitIsSeenOrHarmless) {
  const std::string bytes = archive_of(new_folder(files_));
  std::mt19937_64 random(2);
  int n_refused = 0;
  for (int i = 0; i < 600; ++i) {
    std::string flipped = bytes;
    const std::size_t at = random() % bytes.size();
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
    const auto unpacked = unpack(flipped);
    n_refused += !unpacked;
    if (unpacked) {
      EXPECT_EQ(read(target_), files_) << at;
    }
    fs::remove_all(target_);
  }
  EXPECT_GT(n_refused, 200);
  const auto wrong_sum = unpack(bytes, std::string(64, '0'));
  ASSERT_FALSE(wrong_sum);
  EXPECT_EQ(wrong_sum.error().message().substr(0, 26), "Snapshot checksum mismatch");
}

TEST_F(UnpackerTest, AFolderWithALinkIsNoSnapshot) {
  write(root_ / "folder/files/a", "x");
  fs::create_symlink("/etc/passwd", root_ / "folder/files/b");
  EXPECT_FALSE(write_new_manifest(root_ / "folder", {}));
}

}  // namespace
}  // namespace quiver::engine
