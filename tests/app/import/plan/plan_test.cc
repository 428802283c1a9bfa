#include "app/import/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace quiver::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(PlanTest, WhatDoesNotFitTogether) {
  const auto error = [](const std::function<void(ImportOptions&)>& change) {
    ImportOptions options;
    options.vectors = {"a.npy"};
    change(options);
    const auto plan = make_plan(options);
    return plan ? std::string() : plan.error().message();
  };
  EXPECT_EQ(error([](ImportOptions&) {}), "");
  EXPECT_THAT(error([](auto& o) { o.vectors.clear(); }), HasSubstr("nothing to import"));
  EXPECT_THAT(error([](auto& o) { o.vectors.push_back("b.npy"); }), HasSubstr("same name"));
  EXPECT_THAT(error([](auto& o) { o.points = o.payload = "p"; }), HasSubstr("one of --points"));
  EXPECT_THAT(error([](auto& o) { o.id_column = "x"; }), HasSubstr("--id-column wants"));
  EXPECT_THAT(error([](auto& o) { o.payload_keys = {"x"}; }), HasSubstr("--payload-keys wants"));
  EXPECT_THAT(error([](auto& o) { o.ids = "i", o.id_offset = 1; }), HasSubstr("one of --id"));
  EXPECT_THAT(error([](auto& o) { o.scale = {"b=2"}; }), HasSubstr("no vectors \"b\""));
  EXPECT_THAT(error([](auto& o) { o.from_export = "d"; }), HasSubstr("name all sources"));
}

TEST(PlanTest, FilesOfASource) {
  const auto directory = std::filesystem::temp_directory_path() / "quiver_files_of_test";
  std::filesystem::create_directories(directory);
  for (const char* name : {"a.npy.zst", "s.indptr.npy", "s.indices.npy.gz", "s.values.npy.zst",
                           "h.hdf5.zst", "b.csr"}) {
    std::ofstream(directory / name) << "x";
  }
  const auto files = [&](const std::string& source) {
    std::vector<std::string> names;
    for (const std::string& file : files_of(directory / source)) {
      names.push_back(std::filesystem::path(file).filename());
    }
    return names;
  };
  EXPECT_THAT(files("a.npy"), ElementsAre("a.npy.zst"));
  EXPECT_THAT(files("b.csr.zst"), ElementsAre("b.csr"));
  EXPECT_THAT(files("s"), ElementsAre("s.indptr.npy", "s.indices.npy.gz", "s.values.npy.zst"));
  EXPECT_THAT(files("h.hdf5:train"), ElementsAre("h.hdf5.zst"));
  EXPECT_THAT(files("none.npy"), IsEmpty());
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace quiver::app
