#include "storage/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/faulty_directory.h"

namespace quiver::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = AliasChange::Kind;

std::unique_ptr<Catalog> open(Directory& directory) {
  auto catalog = Catalog::open(directory);
  EXPECT_TRUE(catalog) << catalog.error().to_string();
  return catalog ? *std::move(catalog) : nullptr;
}

/// Everything a reader of the catalog can see, as text.
std::string spell(const Catalog& catalog) {
  std::string text;
  for (const auto& entry : catalog.entries()) {
    text += entry.name + ":" + entry.config + " ";
  }
  for (const auto& alias : catalog.aliases()) text += alias.name + "->" + alias.collection + " ";
  return text;
}

TEST(Catalog, KeepsCollectionsAndAliasesOverReopening) {
  const auto directory = make_memory_directory();
  {
    const auto catalog = open(*directory);
    const std::string hostile("../\0/x\n", 7);
    EXPECT_TRUE(catalog->create("b", "{\"b\":1}"));
    EXPECT_TRUE(catalog->create("a", ""));
    const auto entry = catalog->create(hostile, "h");
    ASSERT_TRUE(entry);
    EXPECT_TRUE(check_file_name(entry->directory));
    EXPECT_TRUE(catalog->update("a", "new"));
    EXPECT_TRUE(catalog->apply_aliases(std::vector<AliasChange>{{Kind::kCreate, "x", "a"}}));
  }
  const auto catalog = open(*directory);
  EXPECT_EQ(catalog->entries().size(), 3U);
  EXPECT_EQ(catalog->find("a")->config, "new");
  EXPECT_EQ(catalog->find("b")->config, "{\"b\":1}");
  EXPECT_TRUE(catalog->find(std::string("../\0/x\n", 7)));
  EXPECT_EQ(catalog->find("x"), std::nullopt);
  EXPECT_EQ(catalog->resolve("x"), "a");
  EXPECT_EQ(catalog->resolve("a"), "a");
  EXPECT_EQ(catalog->resolve("y"), std::nullopt);
}

TEST(Catalog, DirectoriesAreNeverUsedTwice) {
  const auto directory = make_memory_directory();
  const auto first = open(*directory)->create("a", "").value();
  ASSERT_TRUE(open(*directory)->drop("a"));
  const auto second = open(*directory)->create("a", "").value();
  EXPECT_NE(first.directory, second.directory);
}

TEST(Catalog, RefusesWhatDoesNotFit) {
  const auto directory = make_memory_directory();
  const auto catalog = open(*directory);
  ASSERT_TRUE(catalog->create("a", ""));
  EXPECT_EQ(catalog->create("a", "").error().code(), Code::kAlreadyExists);
  EXPECT_EQ(catalog->update("b", "").error().code(), Code::kNotFound);
  EXPECT_EQ(catalog->drop("b").error().code(), Code::kNotFound);
  EXPECT_THAT(catalog->drop("b").error().message(), HasSubstr("`b`"));
  ASSERT_TRUE(catalog->apply_aliases(std::vector<AliasChange>{{Kind::kCreate, "x", "a"}}));
  EXPECT_EQ(catalog->create("x", "").error().code(), Code::kAlreadyExists);
}

TEST(Catalog, AliasChangesApplyInOrderOrNotAtAll) {
  const auto directory = make_memory_directory();
  const auto catalog = open(*directory);
  ASSERT_TRUE(catalog->create("a", ""));
  ASSERT_TRUE(catalog->create("b", ""));
  ASSERT_TRUE(catalog->apply_aliases(std::vector<AliasChange>{{Kind::kCreate, "x", "a"}}));
  ASSERT_TRUE(catalog->apply_aliases(std::vector<AliasChange>{
      {Kind::kDelete, "x", ""}, {Kind::kCreate, "x", "b"}, {Kind::kRename, "x", "y"}}));
  EXPECT_THAT(catalog->aliases(), ElementsAre(Alias{"y", "b"}));
  const std::vector<std::vector<AliasChange>> bad{
      {{Kind::kCreate, "z", "a"}, {Kind::kDelete, "none", ""}},
      {{Kind::kCreate, "z", "none"}},
      {{Kind::kCreate, "a", "b"}},
      {{Kind::kRename, "none", "z"}},
      {{Kind::kDelete, "y", ""}, {Kind::kRename, "y", "z"}},
      {{Kind::kRename, "y", "a"}}};
  for (const auto& changes : bad) {
    EXPECT_FALSE(catalog->apply_aliases(changes));
    EXPECT_THAT(catalog->aliases(), ElementsAre(Alias{"y", "b"}));
    EXPECT_THAT(open(*directory)->aliases(), ElementsAre(Alias{"y", "b"}));
  }
}

TEST(Catalog, DroppingACollectionDropsItsAliases) {
  const auto directory = make_memory_directory();
  const auto catalog = open(*directory);
  ASSERT_TRUE(catalog->create("a", ""));
  ASSERT_TRUE(catalog->create("b", ""));
  ASSERT_TRUE(catalog->apply_aliases(
      std::vector<AliasChange>{{Kind::kCreate, "x", "a"}, {Kind::kCreate, "y", "b"}}));
  ASSERT_TRUE(catalog->drop("a"));
  EXPECT_THAT(catalog->aliases(), ElementsAre(Alias{"y", "b"}));
}

TEST(Catalog, ListsOrphans) {
  const auto directory = make_memory_directory();
  const auto kept = open(*directory)->create("a", "").value();
  const auto below = directory->subdirectory(Catalog::kCollectionsDirectory).value();
  ASSERT_TRUE(below->subdirectory(kept.directory));
  ASSERT_TRUE(below->subdirectory("00000099"));
  EXPECT_THAT(open(*directory)->orphans(), ElementsAre("00000099"));
}

TEST(Catalog, EveryDamagedByteAndEveryTruncationIsFound) {
  const auto directory = make_memory_directory();
  {
    const auto catalog = open(*directory);
    ASSERT_TRUE(catalog->create("some name", "{\"size\":4}"));
    ASSERT_TRUE(
        catalog->apply_aliases(std::vector<AliasChange>{{Kind::kCreate, "x", "some name"}}));
  }
  const auto good = directory->read_file(Catalog::kFileName).value();
  const auto expect_refused = [&](const std::vector<std::byte>& bytes, std::size_t at) {
    ASSERT_TRUE(directory->replace_file(Catalog::kFileName, bytes));
    const auto opened = Catalog::open(*directory);
    ASSERT_FALSE(opened) << "at byte " << at;
    EXPECT_EQ(opened.error().code(), Code::kDataLoss) << "at byte " << at;
    EXPECT_THAT(opened.error().message(), HasSubstr("catalog"));
  };
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto bytes = good;
    bytes[at] ^= std::byte{0x20};
    expect_refused(bytes, at);
    expect_refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(at)}, at);
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  expect_refused(longer, good.size());
}

struct Step {
  const char* name;
  std::function<bool(Catalog&)> run;
};

std::vector<Step> changes() {
  return {
      {"create", [](Catalog& c) { return c.create("new", "1").has_value(); }},
      {"drop", [](Catalog& c) { return c.drop("old").has_value(); }},
      {"update", [](Catalog& c) { return c.update("old", "2").has_value(); }},
      {"aliases", [](Catalog& c) {
         return c.apply_aliases(std::vector<AliasChange>{{Kind::kRename, "x", "y"}}).has_value();
       }}};
}

void start(Directory& directory) {
  const auto catalog = open(directory);
  ASSERT_TRUE(catalog->create("old", "1"));
  ASSERT_TRUE(catalog->apply_aliases(std::vector<AliasChange>{{Kind::kCreate, "x", "old"}}));
}

std::string state_after(const Step& step) {
  const auto directory = make_memory_directory();
  start(*directory);
  const auto catalog = open(*directory);
  EXPECT_TRUE(step.run(*catalog));
  return spell(*catalog);
}

/// Every operation of a change fails in turn, with and without a power cut after it.
TEST(Catalog, AFailedChangeLeavesTheOldStateOrTheNew) {
  for (const Step& step : changes()) {
    const std::string after = state_after(step);
    for (std::uint64_t nth = 1; nth <= 8; ++nth) {
      for (const bool power_cut : {false, true}) {
        SCOPED_TRACE(std::string(step.name) + ", operation " + std::to_string(nth));
        FaultyDirectory directory(make_memory_directory());
        start(directory);
        const auto catalog = open(directory);
        const std::string before = spell(*catalog);
        directory.inject({FileOperation::kAny, nth});
        const bool done = step.run(*catalog);
        EXPECT_EQ(spell(*catalog), done ? after : before);
        directory.clear_faults();
        if (power_cut) {
          ASSERT_TRUE(directory.drop_unsynced());
        }
        const std::string found = spell(*open(directory));
        EXPECT_TRUE(found == after || (!done && found == before)) << found;
        if (!power_cut) {
          EXPECT_TRUE(done || step.run(*catalog)) << "it can be made afterwards";
        }
      }
    }
  }
}

}  // namespace
}  // namespace quiver::storage
