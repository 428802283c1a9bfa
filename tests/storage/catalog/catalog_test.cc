#include "storage/catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "storage/catalog/catalog_format.h"
#include "tests/support/faulty_directory.h"

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

/// Everything that a reader of the catalog can see, as text.
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
  EXPECT_THAT(catalog->aliases(), ElementsAre(AliasEntry{"y", "b"}));
  const std::vector<std::vector<AliasChange>> bad{
      {{Kind::kCreate, "z", "a"}, {Kind::kDelete, "none", ""}},
      {{Kind::kCreate, "z", "none"}},
      {{Kind::kCreate, "a", "b"}},
      {{Kind::kRename, "none", "z"}},
      {{Kind::kDelete, "y", ""}, {Kind::kRename, "y", "z"}},
      {{Kind::kRename, "y", "a"}}};
  for (const auto& changes : bad) {
    EXPECT_FALSE(catalog->apply_aliases(changes));
    EXPECT_THAT(catalog->aliases(), ElementsAre(AliasEntry{"y", "b"}));
    EXPECT_THAT(open(*directory)->aliases(), ElementsAre(AliasEntry{"y", "b"}));
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
  EXPECT_THAT(catalog->aliases(), ElementsAre(AliasEntry{"y", "b"}));
}

TEST(Catalog, TellsStrangersFromGarbage) {
  const auto directory = make_memory_directory();
  const auto kept = open(*directory)->create("a", "").value();
  const auto dropped = open(*directory)->create("b", "").value();
  const auto below = directory->subdirectory(Catalog::kCollectionsDirectory).value();
  for (const auto& name : {kept.directory, dropped.directory, std::string("00000099")}) {
    ASSERT_TRUE(below->subdirectory(name));
  }
  ASSERT_TRUE(below->write_file("notes.txt", as_byte_span("mine")));
  ASSERT_TRUE(open(*directory)->drop("b"));
  EXPECT_THAT(open(*directory)->strangers(), ElementsAre("00000099", "notes.txt"));
  EXPECT_THAT(open(*directory)->garbage(), ElementsAre(dropped.directory));
  ASSERT_TRUE(open(*directory)->forget_garbage(dropped.directory));
  EXPECT_THAT(open(*directory)->garbage(), ElementsAre());
  EXPECT_THAT(open(*directory)->strangers(),
              ElementsAre(dropped.directory, "00000099", "notes.txt"));
}

TEST(Catalog, ACreationPassesOverNamesThatAreTaken) {
  const auto directory = make_memory_directory();
  const auto below = directory->subdirectory(Catalog::kCollectionsDirectory).value();
  ASSERT_TRUE(directory->replace_file(Catalog::kFileName, encode_catalog({})));
  ASSERT_TRUE(below->subdirectory("00000001"));
  ASSERT_TRUE(below->write_file("00000002", as_byte_span("a file")));
  EXPECT_EQ(open(*directory)->create("a", "")->directory, "00000003");
}

TEST(Catalog, IsNotMissingWhereThereAreCollections) {
  const auto directory = make_memory_directory();
  const auto below = directory->subdirectory(Catalog::kCollectionsDirectory).value();
  ASSERT_TRUE(below->subdirectory("backup of monday"));
  ASSERT_TRUE(below->write_file("00000004", as_byte_span("a file")));
  EXPECT_TRUE(Catalog::open(*directory)) << "these are strangers";
  ASSERT_TRUE(below->subdirectory("00000003"));
  const auto opened = Catalog::open(*directory);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kDataLoss);
  EXPECT_THAT(opened.error().message(), HasSubstr("catalog` is missing"));
  EXPECT_THAT(opened.error().message(), HasSubstr("`00000003`"));
}

TEST(Catalog, KnowsWhetherACreationWasFinished) {
  const auto directory = make_memory_directory();
  ASSERT_TRUE(open(*directory)->create("a", ""));
  EXPECT_FALSE(open(*directory)->find("a")->complete);
  ASSERT_TRUE(open(*directory)->complete("a"));
  EXPECT_TRUE(open(*directory)->find("a")->complete);
  EXPECT_EQ(open(*directory)->complete("b").error().code(), Code::kNotFound);
}

std::vector<std::byte> golden_catalog(const std::string& name) {
  return open_real_directory("tests/storage/golden").value()->read_file(name).value();
}

TEST(Catalog, ReadsVersionOne) {
  const auto directory = make_memory_directory();
  ASSERT_TRUE(directory->write_file(Catalog::kFileName, golden_catalog("catalog-v1")));
  const auto below = directory->subdirectory(Catalog::kCollectionsDirectory).value();
  ASSERT_TRUE(below->subdirectory("00000001"));
  ASSERT_TRUE(below->subdirectory("00000002"));  // a drop was cut short
  const auto catalog = open(*directory);
  EXPECT_THAT(catalog->entries(), ElementsAre(CatalogEntry{"a \u00e4", "00000003", "", true},
                                              CatalogEntry{"b", "00000001", "{\"b\":1}", true}));
  EXPECT_THAT(catalog->aliases(), ElementsAre(AliasEntry{"x", "b"}));
  EXPECT_THAT(catalog->garbage(), ElementsAre());
  EXPECT_THAT(catalog->strangers(), ElementsAre("00000002"));
  EXPECT_EQ(catalog->create("c", "")->directory, "00000004");
}

/// Files of version 2 must be read and written with the same bytes for ever; another version needs
/// another golden file.
TEST(Catalog, WritesTheGoldenBytes) {
  const auto directory = make_memory_directory();
  const auto catalog = open(*directory);
  ASSERT_TRUE(catalog->create("b", "{\"b\":1}"));
  ASSERT_TRUE(catalog->create("gone", ""));
  ASSERT_TRUE(catalog->create("a \u00e4", ""));
  ASSERT_TRUE(catalog->apply_aliases(std::vector<AliasChange>{{Kind::kCreate, "x", "b"}}));
  ASSERT_TRUE(catalog->complete("b"));
  ASSERT_TRUE(catalog->drop("gone"));
  const auto bytes = directory->read_file(Catalog::kFileName).value();
  if (std::getenv("QUIVER_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(
        open_real_directory("tests/storage/golden").value()->replace_file("catalog-v2", bytes));
  }
  EXPECT_TRUE(golden_catalog("catalog-v2") == bytes) << "the bytes of the catalog have changed";
  const auto copy = make_memory_directory();
  ASSERT_TRUE(copy->write_file(Catalog::kFileName, golden_catalog("catalog-v2")));
  EXPECT_EQ(open(*copy)->entries(), catalog->entries());
  EXPECT_EQ(open(*copy)->aliases(), catalog->aliases());
  EXPECT_EQ(open(*copy)->garbage(), catalog->garbage());
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
TEST(Catalog, AFailedChangeLeavesTheOldState) {
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
        EXPECT_EQ(found, done ? after : before);
        if (!power_cut) {
          EXPECT_TRUE(done || step.run(*catalog)) << "it can be made afterwards";
        }
      }
    }
  }
}

/// The file is in place, its name cannot be made durable, and the old state cannot be written.
TEST(Catalog, TakesNoChangeUntilTheDiskIsCertain) {
  for (const Step& step : changes()) {
    SCOPED_TRACE(step.name);
    FaultyDirectory directory(make_memory_directory());
    start(directory);
    const auto catalog = open(directory);
    const std::string before = spell(*catalog);
    directory.inject({FileOperation::kDirectorySync, 1, FaultRule::kForever});
    EXPECT_FALSE(step.run(*catalog));
    EXPECT_FALSE(catalog->is_certain());
    EXPECT_EQ(spell(*catalog), before);
    EXPECT_FALSE(catalog->settle());
    EXPECT_EQ(catalog->create("other", "").error().code(), Code::kUnavailable);
    directory.clear_faults();
    EXPECT_TRUE(catalog->settle());
    EXPECT_TRUE(catalog->is_certain());
    ASSERT_TRUE(directory.drop_unsynced());
    EXPECT_EQ(spell(*open(directory)), before);
    EXPECT_TRUE(step.run(*catalog));
  }
}

TEST(Catalog, TakesACreationBackWhateverTheDiskDoes) {
  FaultyDirectory directory(make_memory_directory());
  start(directory);
  const auto catalog = open(directory);
  const auto created = catalog->create("new", "");
  ASSERT_TRUE(created);
  directory.inject({FileOperation::kAppend, 1, FaultRule::kForever});
  EXPECT_FALSE(catalog->take_back(*created));
  EXPECT_FALSE(catalog->find("new"));
  EXPECT_FALSE(catalog->is_certain());
  directory.clear_faults();
  EXPECT_TRUE(catalog->settle());
  EXPECT_FALSE(open(directory)->find("new"));
  EXPECT_EQ(catalog->take_back(*created).error().code(), Code::kNotFound);
}

/// A full disk changes nothing, so the state stays certain.
TEST(Catalog, AFailureBeforeTheFileIsInPlaceLeavesNoDoubt) {
  FaultyDirectory directory(make_memory_directory());
  start(directory);
  const auto catalog = open(directory);
  directory.inject({FileOperation::kAppend, 1, FaultRule::kForever, 28});
  EXPECT_EQ(catalog->drop("old").error().code(), Code::kResourceExhausted);
  EXPECT_TRUE(catalog->is_certain());
}

TEST(Catalog, AdoptsAReservedDirectoryInOneStep) {
  const auto directory = make_memory_directory();
  std::string reserved;
  {
    const auto catalog = open(*directory);
    ASSERT_TRUE(catalog->create("a", "old"));
    ASSERT_TRUE(catalog->apply_aliases(std::vector<AliasChange>{{Kind::kCreate, "x", "a"}}));
    reserved = catalog->reserve().value();
  }
  {
    // A restart in between finds garbage, and the collection as it was.
    const auto catalog = open(*directory);
    EXPECT_THAT(catalog->garbage(), ElementsAre(reserved));
    EXPECT_EQ(spell(*catalog), "a:old x->a ");
    const std::string old = catalog->find("a")->directory;
    EXPECT_EQ(catalog->adopt("a", reserved, "new", "").error().code(), Code::kAborted);
    EXPECT_EQ(catalog->adopt("a", "77777777", "new", old).error().code(), Code::kNotFound);
    EXPECT_EQ(catalog->adopt("x", reserved, "new", "").error().code(), Code::kAlreadyExists);
    EXPECT_EQ(spell(*catalog), "a:old x->a ");
    ASSERT_TRUE(catalog->adopt("a", reserved, "new", old));
    EXPECT_THAT(catalog->garbage(), ElementsAre(old));
    EXPECT_FALSE(catalog->update("a", old, "late")) << "by the replaced collection";
    ASSERT_TRUE(catalog->update("a", reserved, "newer"));
  }
  const auto catalog = open(*directory);
  EXPECT_EQ(spell(*catalog), "a:newer x->a ");
  EXPECT_EQ(catalog->find("a")->directory, reserved);
  EXPECT_TRUE(catalog->find("a")->complete);
}

}  // namespace
}  // namespace quiver::storage
