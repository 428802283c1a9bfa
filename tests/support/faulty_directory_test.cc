#include "tests/support/faulty_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <random>
#include <set>

namespace quiver {
namespace {

std::string read(const Directory& directory, std::string_view name) {
  const auto bytes = directory.read_file(name);
  return bytes ? std::string(as_text(*bytes)) : std::string(to_string(bytes.error().code()));
}

TEST(FaultyDirectory, FailsTheNthOperation) {
  FaultyDirectory directory(make_memory_directory());
  directory.inject({.operation = FileOperation::kSync, .nth = 2, .error_number = EIO});
  ASSERT_TRUE(directory.write_file("a", as_byte_span("x")));
  const auto failed = directory.write_file("b", as_byte_span("x"));
  EXPECT_EQ(failed.error().code(), Code::kUnavailable);
  EXPECT_NE(failed.error().message().find("sync"), std::string::npos);
  EXPECT_FALSE(directory.exists("b"));  // nothing of it stays
  ASSERT_TRUE(directory.write_file("b", as_byte_span("x")));
  EXPECT_EQ(directory.n_operations(FileOperation::kSync), 3U);
}

TEST(FaultyDirectory, DiskFullUntilCleared) {
  FaultyDirectory directory(make_memory_directory());
  auto file = *directory.create_file("log");
  directory.inject({.operation = FileOperation::kAppend,
                    .n_times = FaultRule::kForever,
                    .error_number = ENOSPC});
  const auto failed = file->append(as_byte_span("12345678"));
  EXPECT_EQ(failed.error().code(), Code::kResourceExhausted);
  EXPECT_TRUE(failed.error().message().starts_with("no space left on device"));
  EXPECT_EQ(read(directory, "log"), "1234");  // torn
  EXPECT_FALSE(file->append(as_byte_span("x")));
  directory.clear_faults();
  EXPECT_TRUE(file->append(as_byte_span("x")));
}

TEST(FaultyDirectory, FaultsReachSubdirectories) {
  FaultyDirectory directory(make_memory_directory());
  auto below = *directory.subdirectory("d");
  directory.inject({.operation = FileOperation::kCreate});
  EXPECT_FALSE(below->create_file("f"));
  EXPECT_TRUE(below->create_file("f"));
}

TEST(FaultyDirectory, LosesUnsyncedBytes) {
  FaultyDirectory directory(make_memory_directory());
  auto file = *directory.create_file("f");
  ASSERT_TRUE(directory.sync());
  ASSERT_TRUE(file->append(as_byte_span("kept")));
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(file->append(as_byte_span(" lost")));
  ASSERT_TRUE(directory.drop_unsynced());
  EXPECT_EQ(read(directory, "f"), "kept");
  EXPECT_EQ(file->append(as_byte_span("x")).error().code(), Code::kUnavailable);
  EXPECT_EQ(file->sync().error().code(), Code::kUnavailable);
}

TEST(FaultyDirectory, LosesUnsyncedNames) {
  FaultyDirectory directory(make_memory_directory());
  ASSERT_TRUE(directory.write_file("old", as_byte_span("1")));
  ASSERT_TRUE(directory.write_file("removed", as_byte_span("2")));
  ASSERT_TRUE(directory.sync());
  ASSERT_TRUE(directory.write_file("new", as_byte_span("3")));
  ASSERT_TRUE(directory.rename_file("old", "renamed"));
  ASSERT_TRUE(directory.remove_file("removed"));
  ASSERT_TRUE(directory.drop_unsynced());
  EXPECT_EQ(directory.list()->size(), 2U);
  EXPECT_EQ(read(directory, "old"), "1");
  EXPECT_EQ(read(directory, "removed"), "2");
}

TEST(FaultyDirectory, KeepsWhatWasSynced) {
  FaultyDirectory directory(make_memory_directory());
  ASSERT_TRUE(directory.write_file("a", as_byte_span("1")));
  ASSERT_TRUE(directory.rename_file("a", "b"));
  ASSERT_TRUE(directory.replace_file("c", as_byte_span("2")));
  ASSERT_TRUE(directory.drop_unsynced());
  EXPECT_EQ(read(directory, "b"), "1");
  EXPECT_EQ(read(directory, "c"), "2");
  ASSERT_TRUE(directory.remove_file("b"));
  ASSERT_TRUE(directory.sync());
  ASSERT_TRUE(directory.drop_unsynced());
  EXPECT_FALSE(directory.exists("b"));
}

TEST(FaultyDirectory, KeepsNamesAlone) {
  FaultyDirectory directory(make_memory_directory());
  ASSERT_TRUE(directory.write_file("old", as_byte_span("1")));
  ASSERT_TRUE(directory.sync());
  ASSERT_TRUE(directory.rename_file("old", "renamed"));
  auto file = *directory.create_file("new");
  ASSERT_TRUE(file->append(as_byte_span("lost")));
  ASSERT_TRUE(directory.drop_unsynced(Loss::kNamesOnly));
  EXPECT_FALSE(directory.exists("old"));
  EXPECT_EQ(read(directory, "renamed"), "1");
  EXPECT_EQ(read(directory, "new"), "");
}

TEST(FaultyDirectory, KeepsSomeOfWhatWasNotSynced) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    FaultyDirectory directory(make_memory_directory());
    auto file = *directory.create_file("f");
    ASSERT_TRUE(file->append(as_byte_span("12")));
    ASSERT_TRUE(directory.drop_unsynced(Loss::kSomeUnsynced, seed));
    seen.insert(read(directory, "f"));
  }
  const std::string missing(to_string(Code::kNotFound));
  EXPECT_EQ(seen, (std::set<std::string>{"", "1", "12", missing}));
}

TEST(FaultyDirectory, SubdirectoriesAreNamesToo) {
  FaultyDirectory directory(make_memory_directory());
  auto kept = *directory.subdirectory("kept");
  ASSERT_TRUE(kept->write_file("f", as_byte_span("1")));
  ASSERT_TRUE(kept->sync());
  ASSERT_TRUE(directory.sync());
  auto lost = *directory.subdirectory("lost");
  ASSERT_TRUE(lost->write_file("f", as_byte_span("2")));
  ASSERT_TRUE(lost->sync());
  ASSERT_TRUE(directory.rename_subdirectory("kept", "moved"));
  ASSERT_TRUE(directory.drop_unsynced());
  EXPECT_FALSE(directory.exists("lost"));
  EXPECT_FALSE(directory.exists("moved"));
  EXPECT_EQ(read(**directory.open_subdirectory("kept"), "f"), "1");

  ASSERT_TRUE(directory.remove_subdirectory("kept"));
  ASSERT_TRUE(directory.drop_unsynced());
  EXPECT_EQ(read(**directory.open_subdirectory("kept"), "f"), "1");
}

TEST(FaultyDirectory, CutPowerRefusesChanges) {
  FaultyDirectory directory(make_memory_directory());
  ASSERT_TRUE(directory.replace_file("f", as_byte_span("1")));
  directory.cut_power();
  EXPECT_EQ(directory.replace_file("f", as_byte_span("2")).error().code(), Code::kUnavailable);
  EXPECT_EQ(directory.remove_file("f").error().code(), Code::kUnavailable);
  EXPECT_EQ(read(directory, "f"), "1");
  ASSERT_TRUE(directory.drop_unsynced());
  ASSERT_TRUE(directory.replace_file("f", as_byte_span("2")));
}

TEST(FaultyDirectory, WhatWasThereBeforeIsDurable) {
  std::string path = testing::TempDir() + "quiver-XXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  auto real = *open_real_directory(path);
  ASSERT_TRUE(real->write_file("f", as_byte_span("1")));
  ASSERT_TRUE((*real->subdirectory("d"))->write_file("g", as_byte_span("2")));
  FaultyDirectory directory(std::move(real));
  ASSERT_TRUE(directory.replace_file("f", as_byte_span("new")));
  ASSERT_TRUE(directory.remove_subdirectory("d"));
  EXPECT_FALSE(directory.exists("d"));
  ASSERT_TRUE(directory.drop_unsynced());
  EXPECT_EQ(read(directory, "f"), "new");
  EXPECT_EQ(read(**directory.open_subdirectory("d"), "g"), "2");
  std::filesystem::remove_all(path);
}

// Under any fault and any power cut the file has the old bytes or the new ones.
TEST(FaultyDirectory, ReplaceFileIsAtomicUnderEveryFault) {
  FaultyDirectory counted(make_memory_directory());
  ASSERT_TRUE(counted.replace_file("f", as_byte_span("old")));
  const auto n_operations = counted.n_operations(FileOperation::kAny);
  ASSERT_GE(n_operations, 5U);
  for (std::uint64_t nth = 1; nth <= n_operations; ++nth) {
    FaultyDirectory directory(make_memory_directory());
    ASSERT_TRUE(directory.replace_file("f", as_byte_span("old")));
    directory.inject({.nth = nth, .n_times = FaultRule::kForever});
    EXPECT_FALSE(directory.replace_file("f", as_byte_span("new")));
    const auto seen = read(directory, "f");
    EXPECT_TRUE(seen == "old" || seen == "new") << seen;
    ASSERT_TRUE(directory.drop_unsynced());
    EXPECT_EQ(read(directory, "f"), "old") << "failed operation " << nth;
    ASSERT_TRUE(directory.replace_file("f", as_byte_span("newer")));
    EXPECT_EQ(read(directory, "f"), "newer");
  }
}

/// A map of names to bytes, now and at the last sync: a slow obvious copy of the rules.
struct Model {
  struct File {
    std::string bytes;
    std::size_t n_synced = 0;
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;
  Names live;
  Names durable;
};

TEST(FaultyDirectory, EqualsAModelUnderRandomOperations) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    FaultyDirectory root(make_memory_directory());
    auto directory = *root.subdirectory("d");
    ASSERT_TRUE(root.sync());
    Model model;
    const auto any_name = [&] { return std::string(1, static_cast<char>('a' + random() % 5)); };
    for (int step = 0; step < 300; ++step) {
      const std::string name = any_name();
      const std::string other = any_name();
      switch (random() % 6) {
        case 0: {
          auto file = directory->create_file(name);
          ASSERT_EQ(file.has_value(), !model.live.contains(name));
          if (!file) break;
          auto expected = std::make_shared<Model::File>();
          for (int part = 0; part < 3; ++part) {
            const std::string text = std::to_string(random());
            ASSERT_TRUE((*file)->append(as_byte_span(text)));
            expected->bytes += text;
            if (random() % 2 == 0) {
              ASSERT_TRUE((*file)->sync());
              expected->n_synced = expected->bytes.size();
            }
          }
          model.live[name] = expected;
          break;
        }
        case 1:
          ASSERT_EQ(directory->remove_file(name).has_value(), model.live.erase(name) == 1);
          break;
        case 2:
          ASSERT_EQ(directory->rename_file(name, other).has_value(), model.live.contains(name));
          if (name != other && model.live.contains(name)) {
            model.live[other] = model.live[name];
            model.live.erase(name);
          }
          break;
        case 3:
          if (random() % 2 == 0) {
            ASSERT_TRUE(directory->sync());
            model.durable = model.live;
          }
          break;
        case 4:
          if (random() % 5 == 0) {
            ASSERT_TRUE(root.drop_unsynced());
            for (auto& [n, file] : model.durable) file->bytes.resize(file->n_synced);
            model.live = model.durable;
          }
          break;
        default:
          break;
      }
      std::vector<DirectoryEntry> expected;
      for (const auto& [n, file] : model.live) {
        expected.push_back({n, EntryKind::kFile});
        ASSERT_EQ(read(*directory, n), file->bytes);
      }
      ASSERT_EQ(*directory->list(), expected);
    }
  }
}

}  // namespace
}  // namespace quiver
