// What tests of list_router, lists_files, partition share.
#pragma once

#include <gtest/gtest.h>

#include "base/io/section_file.h"
#include "index/dense/lists/partition.h"
#include "index/dense/lists/search/list_router.h"
#include "index/dense/lists/sections.h"
#include "tests/index/dense/dense_support.h"

namespace quiver::index::testing {

inline constexpr SectionFormat kListsFormat{"dense index", "QVIVF001", "QVIVFEND"};

inline std::vector<std::byte> bytes_of_file(const Directory& directory, const std::string& name) {
  const auto bytes = directory.read_file(name);
  EXPECT_TRUE(bytes) << bytes.error().to_string();
  return *bytes;
}

inline SectionReader lists_of(const Directory& directory) {
  auto reader = SectionReader::open(kListsFormat, directory, "lists.qvx");
  EXPECT_TRUE(reader) << reader.error().to_string();
  return *std::move(reader);
}

}  // namespace quiver::index::testing
