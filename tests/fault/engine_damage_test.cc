// Damaged, cut or missing files of segments and payload columns: answers from rows stay the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tests/engine/indexing/copied_index.h"
#include "tests/fault/engine_fault_support.h"
#include "tests/patience.h"

namespace quiver::fault {
namespace {

namespace fs = std::filesystem;
using model::Random;
using model::Runner;

void flip_a_bit(const fs::path& path, Random& random) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(random() % fs::file_size(path));
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ (1 << random() % 8));
  file.seekp(at);
  file.put(byte);
  ASSERT_TRUE(file.good());
}

void cut_short(const fs::path& path, Random& random) {
  fs::resize_file(path, random() % fs::file_size(path));
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class EngineDamage : public EngineFault {
 protected:
  [[nodiscard]] std::vector<fs::path> segment_files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / "segments")) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  [[nodiscard]] std::vector<fs::path> index_files() const {
    auto files = segment_files();
    std::erase_if(files, [](const fs::path& file) {
      return !file.parent_path().filename().string().starts_with("index-");
    });
    return files;
  }
  void live_a_while(Runner& runner, Random& random) {
    for (int step = 0; step < 80 && !HasFailure(); ++step) runner.random_step(random);
    if (!HasFailure()) runner.check_rest();
  }
  /// Calls `damage`, then opens twice: the second time before everything is sealed again.
  void expect_same_answers(Runner& runner, const std::function<void()>& damage) {
    const auto before = runner.probe(1);
    runner.close();
    damage();
    for (int times = 0; times < 2; ++times) {
      runner.open();
      if (HasFatalFailure()) return;
      EXPECT_EQ(runner.probe(1), before);
      runner.check_everything();
      if (times == 0) runner.close();
    }
  }
};

/// Any flipped bit of an index is reported, the answers come from the rows, and the same bytes are
/// written again. (Only such a build reads the starting centroids of lists.)
TEST_F(EngineDamage, IndexesAreBuiltAgain) {
  constexpr std::uint64_t kSeed = 9;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  auto config = model::random_config(random);
  config.optimizer.index_min_bytes = 0;
  Runner runner(options(), config);
  runner.open();
  if (HasFatalFailure()) return;
  live_a_while(runner, random);
  if (HasFailure()) return;
  const auto before = runner.probe(2);
  auto files = index_files();
  std::erase_if(files, [](const auto& file) { return file.filename() == "start.qvx"; });
  ASSERT_GE(files.size(), config.fields.size());
  for (int i = 0; i < 12 && !HasFailure(); ++i) {
    const auto& file = files[random() % files.size()];
    SCOPED_TRACE("damage number " + std::to_string(i) + " to " + file.string());
    const std::string good = contents(file);
    runner.close();
    switch (i % 3) {
      case 0:
        flip_a_bit(file, random);
        break;
      case 1:
        cut_short(file, random);
        break;
      default:
        fs::remove(file);
    }
    runner.open();
    if (HasFatalFailure()) return;
    EXPECT_EQ(runner.probe(2), before);
    runner.check_everything();
    runner.check_rest();
    EXPECT_EQ(contents(file), good);
    EXPECT_EQ(runner.probe(2), before);
  }
}

/// A build that fails on a faulty disk costs only the index, and is repeated.
TEST_F(EngineDamage, FailedBuildsAreMadeUpFor) {
  constexpr std::uint64_t kSeed = 10;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  auto config = model::random_config(random);
  config.optimizer.index_min_bytes = 0;
  Runner runner(options(), config);
  runner.open();
  if (HasFatalFailure()) return;
  live_a_while(runner, random);
  if (HasFailure()) return;
  const auto before = runner.probe(3);
  auto files = index_files();
  std::erase_if(files, [](const fs::path& file) { return file.filename() != "copy"; });
  ASSERT_FALSE(files.empty());
  auto& control = engine::testing::copied_control;
  for (const auto operation : {FileOperation::kAppend, FileOperation::kSync,
                               FileOperation::kDirectorySync, FileOperation::kRename}) {
    SCOPED_TRACE("operation " + std::to_string(static_cast<int>(operation)));
    runner.close();
    const auto& file = files[random() % files.size()];
    fs::remove_all(file.parent_path());
    control.hold = true;
    const int n_builds = control.n_builds;
    runner.open();
    if (HasFatalFailure()) return;
    ASSERT_TRUE(comes_true([&] { return control.n_builds > n_builds; }, std::chrono::seconds(30)));
    segments_->inject({operation, 1, FaultRule::kForever, 28});
    control.hold = false;
    ASSERT_TRUE(
        comes_true([&] { return runner.collection().info().health == engine::Health::kRed; },
                   std::chrono::seconds(30)));
    EXPECT_EQ(runner.probe(3), before);
    EXPECT_FALSE(fs::exists(file));
    runner.close();
    segments_->clear_faults();
    runner.open();
    if (HasFatalFailure()) return;
    runner.check_rest();
    EXPECT_TRUE(fs::exists(file));
    EXPECT_FALSE(fs::exists(file.parent_path().string() + ".tmp"));
    EXPECT_EQ(runner.probe(3), before);
  }
}

TEST_F(EngineDamage, AnswersComeFromRows) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    new_machine();
    Random random(seed);
    Runner runner(options(), model::random_config(random));
    runner.open();
    if (HasFatalFailure()) return;
    for (const char* key : {"n", "s", "t"}) {
      payload::FieldIndex index;
      index.key = key;
      index.kind = *key == 'n'   ? payload::IndexKind::kInteger
                   : *key == 's' ? payload::IndexKind::kKeyword
                                 : payload::IndexKind::kText;
      ASSERT_TRUE(runner.collection().create_index(index, engine::Ack::kVisible));
    }
    runner.model().set_indexes(runner.collection().config()->indexes);
    for (int i = 0; i < 5; ++i) {
      SCOPED_TRACE("damage number " + std::to_string(i));
      live_a_while(runner, random);
      if (HasFailure()) return;
      expect_same_answers(runner, [&] {
        const auto files = segment_files();
        ASSERT_FALSE(files.empty());
        for (const auto& file : files) {
          if (random() % 2 == 0) continue;
          SCOPED_TRACE(file.string());
          switch (fs::file_size(file) == 0 ? 2 : random() % 4) {
            case 0:
              flip_a_bit(file, random);
              break;
            case 1:
              cut_short(file, random);
              break;
            case 2:
              fs::remove(file);
              break;
            default:
              fs::remove_all(file.parent_path());
              return;  // the rest of the list may be gone
          }
        }
      });
      if (HasFailure()) return;
    }
    runner.check_rest();
  }
}

/// A file that the disk cannot read is treated like a damaged file: the rows are rebuilt.
TEST_F(EngineDamage, UnreadableFilesAreRebuilt) {
  constexpr std::uint64_t kSeed = 12;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  auto config = model::random_config(random);
  config.optimizer.index_min_bytes = 0;
  Runner runner(options(), config);
  runner.open();
  if (HasFatalFailure()) return;
  payload::FieldIndex index;
  index.key = "n";
  index.kind = payload::IndexKind::kInteger;
  ASSERT_TRUE(runner.collection().create_index(index, engine::Ack::kVisible));
  runner.model().set_indexes(runner.collection().config()->indexes);
  live_a_while(runner, random);
  if (HasFailure()) return;
  const auto before = runner.probe(4);
  for (const auto operation : {FileOperation::kOpen, FileOperation::kRead}) {
    for (int i = 0; i < 6 && !HasFailure(); ++i) {
      SCOPED_TRACE("operation " + std::to_string(static_cast<int>(operation)) + ", number " +
                   std::to_string(i));
      runner.close();
      const std::uint64_t n_before = segments_->n_operations(operation);
      segments_->inject({operation, 1 + random() % 20, 1 + random() % 4, EIO});
      runner.open();
      if (HasFatalFailure()) return;
      EXPECT_GT(segments_->n_operations(operation), n_before);
      segments_->clear_faults();
      EXPECT_EQ(runner.probe(4), before);
      runner.check_everything();
      runner.check_rest();
    }
  }
}

/// A temporary fault, or one for the operator to fix, is no damage: no file is thrown away.
TEST_F(EngineDamage, TooManyOpenFilesAreNoDamage) {
  constexpr std::uint64_t kSeed = 13;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  Runner runner(options(), model::random_config(random));
  runner.open();
  if (HasFatalFailure()) return;
  live_a_while(runner, random);
  if (HasFailure()) return;
  const auto before = runner.probe(5);
  runner.close();
  const auto files = segment_files();
  for (const int error_number : {EMFILE, ENFILE, ENOMEM, EACCES, ENOSPC}) {
    SCOPED_TRACE(error_number);
    segments_->inject({FileOperation::kOpen, 1, FaultRule::kForever, error_number});
    {
      auto database = engine::Database::open(options()).value();
      EXPECT_FALSE(database->collection(model::kCollection));
      EXPECT_TRUE(database->close());
    }
    EXPECT_EQ(segment_files(), files);
    segments_->clear_faults();
  }
  runner.open();
  if (HasFatalFailure()) return;
  EXPECT_EQ(runner.collection().info().n_damaged_segments, 0U);
  EXPECT_EQ(runner.probe(5), before);
  runner.check_everything();
}

/// Intact files written for another place are refused: from another shard under the same path, or
/// from another segment of the same shard.
TEST_F(EngineDamage, FilesOfOtherPlacesAreRefused) {
  constexpr std::uint64_t kSeed = 14;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  auto config = model::random_config(random);
  config.shard_number = 2;
  config.optimizer.index_min_bytes = 0;
  Runner runner(options(), config);
  runner.open();
  if (HasFatalFailure()) return;
  for (const char* key : {"n", "s"}) {
    payload::FieldIndex index;
    index.key = key;
    index.kind = *key == 'n' ? payload::IndexKind::kInteger : payload::IndexKind::kKeyword;
    ASSERT_TRUE(runner.collection().create_index(index, engine::Ack::kVisible));
  }
  runner.model().set_indexes(runner.collection().config()->indexes);
  for (int i = 0; i < 6 && !HasFailure(); ++i) {
    SCOPED_TRACE("exchange " + std::to_string(i));
    live_a_while(runner, random);
    if (HasFailure()) return;
    expect_same_answers(runner, [&] {
      const auto files = segment_files();
      int n_exchanged = 0;
      for (const auto& file : files) {
        for (const auto& other : files) {
          const bool fits = file != other && file.filename() == other.filename() &&
                            file.parent_path().filename() == other.parent_path().filename();
          const bool fits_columns =
              file != other && file.filename() == other.filename() && file.extension() == ".qvc";
          if ((!fits && !fits_columns) || random() % 2 == 0) continue;
          fs::copy_file(other, file, fs::copy_options::overwrite_existing);
          ++n_exchanged;
          break;
        }
      }
      EXPECT_GT(n_exchanged, 0);
    });
  }
  if (!HasFailure()) runner.check_rest();
}

}  // namespace
}  // namespace quiver::fault
