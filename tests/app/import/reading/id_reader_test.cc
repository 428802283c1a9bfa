#include "app/import/reading/id_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace quiver::app {
namespace {

TEST(IdReaderTest, JsonLinesWithErrorsInPlace) {
  EXPECT_TRUE(is_npy("a/ids.npy") && is_npy("ids.npy.zst"));
  EXPECT_FALSE(is_npy("ids.jsonl"));
  const auto path = std::filesystem::temp_directory_path() / "quiver_id_reader_test.jsonl";
  std::ofstream(path) << "7\n\"5c56c793-69f3-4fbf-87e6-c4bf54c28c26\"\n-1\n9\n";
  auto reader = IdReader::open(path);
  ASSERT_TRUE(reader) << reader.error().message();
  std::vector<Result<PointId>> ids;
  ASSERT_TRUE(reader->read(3, ids));
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_EQ(ids[0].value(), PointId::number(7));
  EXPECT_EQ(ids[1]->to_string(), "5c56c793-69f3-4fbf-87e6-c4bf54c28c26");
  ASSERT_FALSE(ids[2]);
  EXPECT_THAT(ids[2].error().message(), testing::HasSubstr("line 3"));
  ASSERT_TRUE(reader->read(3, ids));
  ASSERT_EQ(ids.size(), 1U);
  auto skipped = IdReader::open(path);
  ASSERT_TRUE(skipped->skip_to(3));
  ASSERT_TRUE(skipped->read(1, ids));
  EXPECT_EQ(ids[0].value(), PointId::number(9));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace quiver::app
