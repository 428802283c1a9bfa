#include "engine/segment/columns.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/segment/sealing.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

payload::FieldIndex index_on(std::string key, payload::IndexKind kind) {
  payload::FieldIndex index;
  index.key = std::move(key);
  index.kind = kind;
  index.range = kind == payload::IndexKind::kInteger;
  return index;
}

class SealedSegment : public ::testing::Test {
 protected:
  SealedSegment() {
    Random random(11);
    inputs_ = {segment_of(random_rows(30, fields_, random), fields_),
               segment_of(random_rows(30, fields_, random), fields_, 2)};
  }
  SegmentData write(const std::vector<payload::FieldIndex>& indexes) {
    rows_ = live_rows_by_id({inputs_.data(), 1});
    return write_segment({5, {inputs_.data(), 1}, rows_, indexes}, *segments_, fields_, Cancel(),
                         nullptr)
        .value();
  }

  const std::vector<FieldSchema> fields_ = mixed_fields();
  const payload::FieldIndex number_ = index_on("n", payload::IndexKind::kInteger);
  const payload::FieldIndex word_ = index_on("s", payload::IndexKind::kKeyword);
  std::vector<Segment> inputs_;
  std::vector<RowRef> rows_;
  std::unique_ptr<Directory> segments_ = make_memory_directory();
};

TEST_F(SealedSegment, HasTheRowsOfItsInputsById) {
  const auto data = write({number_});
  EXPECT_TRUE(data.sealed);
  EXPECT_EQ(data.id, 5U);
  const auto ids = data.ids.span();
  ASSERT_EQ(ids.size(), 30U);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  const Segment sealed{std::make_shared<const SegmentData>(data), nullptr, 0};
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(sealed.row(i), inputs_[0].row(rows_[i].row));
  }
  EXPECT_TRUE(segments_->exists("5"));
}

TEST_F(SealedSegment, MissingColumnsAreBuiltAndOpened) {
  auto data = write({number_});
  const std::vector indexes = {number_, word_};
  EXPECT_FALSE(lacks_columns(data, {&number_, 1}));
  EXPECT_TRUE(lacks_columns(data, indexes));
  auto made = missing_columns(data, indexes, *segments_).value();
  ASSERT_EQ(made.size(), 1U);
  EXPECT_TRUE(made.contains("s"));
  const auto directory = segments_->open_subdirectory("5").value();
  EXPECT_TRUE(directory->exists(column_file(word_)));
  auto reopened = open_segment_file(*directory, 5, fields_).value();
  ASSERT_TRUE(open_columns(reopened, *directory, indexes));
  EXPECT_FALSE(lacks_columns(reopened, indexes));
  EXPECT_TRUE(directory->exists(column_file(number_)));
  ASSERT_TRUE(open_columns(reopened, *directory, {&word_, 1}));
  EXPECT_FALSE(directory->exists(column_file(number_))) << "there is no such index now";
  EXPECT_TRUE(directory->exists(column_file(word_)));
}

TEST_F(SealedSegment, ColumnsOfGrowingSegmentsAreInMemory) {
  const auto& data = *inputs_[0].data;
  EXPECT_TRUE(lacks_columns(data, {&number_, 1}));
  EXPECT_EQ(missing_columns(data, {&number_, 1}, *segments_).value().size(), 1U);
}

TEST_F(SealedSegment, OneColumnServesTheSameKeyAndKind) {
  EXPECT_TRUE(same_column(number_, number_));
  auto other = number_;
  other.kind = payload::IndexKind::kKeyword;
  EXPECT_FALSE(same_column(number_, other));
  EXPECT_NE(column_file(number_), column_file(other));
  const std::vector indexes = {number_, word_};
  EXPECT_EQ(find_index(indexes, "s"), &indexes[1]);
  EXPECT_EQ(find_index(indexes, "x"), nullptr);
}

TEST_F(SealedSegment, TextsWithoutAnAnalysisKeepTheNamesOfTheirFiles) {
  const auto text = index_on("t", payload::IndexKind::kText);
  EXPECT_EQ(column_file(text), "column-93b874170dc0f176.qvc");
  auto spaces = text;
  spaces.text.tokenizer = payload::Tokenizer::kWhitespace;
  EXPECT_EQ(column_file(spaces), "column-4803158e94c7c9dc.qvc");
  auto stemmed = text;
  stemmed.text.stemmer = payload::StemmerLanguage::kEnglish;
  EXPECT_NE(column_file(text), column_file(stemmed));
  EXPECT_FALSE(same_column(text, stemmed));
}

}  // namespace
}  // namespace quiver::engine::testing
