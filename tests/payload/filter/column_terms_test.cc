#include "payload/filter/column_terms.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/io/file.h"

namespace quiver::payload {
namespace {

using Terms = std::vector<std::uint32_t>;

/// One column as it grows and as it is sealed; each answers in its own numbering of terms.
class ColumnTermsTest : public testing::Test {
 protected:
  void SetUp() override {
    FieldIndex index;
    index.key = "k";
    auto column = *MutableColumn::create(index);
    for (const char* text : {"sea", "deep", "seaside", "blue", "sky", "deer"}) {
      column->add_row(*parse_json(std::string(R"({"k":")") + text + "\"}"));
    }
    const auto directory = make_memory_directory();
    ASSERT_TRUE(write_column(column->view(), *directory, "c"));
    columns_ = {column->view(), *open_column(*directory, "c", index)};
  }
  [[nodiscard]] static std::vector<std::string> texts_of(const ColumnView& column,
                                                         const Terms& terms) {
    std::vector<std::string> texts;
    for (const std::uint32_t term : terms) texts.emplace_back(column.term(term));
    std::sort(texts.begin(), texts.end());
    return texts;
  }

  std::vector<ColumnView> columns_;
};

TEST_F(ColumnTermsTest, FindsTheTextsThatTheDictionaryHas) {
  const std::vector<std::string> few = {"absent", "deep", "sky"};
  const std::vector<std::string> many = {"absent", "blue", "deep", "none", "sea", "sky", "zzz"};
  for (const ColumnView& column : columns_) {
    EXPECT_EQ(texts_of(column, find_terms(column, few)), (std::vector<std::string>{"deep", "sky"}));
    EXPECT_EQ(texts_of(column, find_terms(column, many)),
              (std::vector<std::string>{"blue", "deep", "sea", "sky"}));
  }
}

TEST_F(ColumnTermsTest, FindsTermsByPrefix) {
  for (const ColumnView& column : columns_) {
    EXPECT_EQ(texts_of(column, prefixed_terms(column, "sea")),
              (std::vector<std::string>{"sea", "seaside"}));
    EXPECT_EQ(texts_of(column, prefixed_terms(column, "dee")),
              (std::vector<std::string>{"deep", "deer"}));
    EXPECT_TRUE(prefixed_terms(column, "z").empty());
    EXPECT_EQ(prefixed_terms(column, "").size(), 6U);
  }
}

TEST(ColumnTerms, SortedRangesAreClosed) {
  const std::vector<std::int64_t> sorted = {1, 3, 3, 5};
  EXPECT_EQ(find_sorted<std::int64_t>(sorted, 3, 3).size(), 2U);
  EXPECT_EQ(find_sorted<std::int64_t>(sorted, 2, 5).size(), 3U);
  EXPECT_EQ(find_sorted<std::int64_t>(sorted, 5, 1).size(), 0U);
}

TEST(ColumnTerms, TokensMustComeFromOneString) {
  constexpr auto kGap = ColumnView::kGap;
  const Terms tokens = {1, 2, kGap, 3, 1};
  using Mode = TextCondition::Mode;
  EXPECT_TRUE(row_has_tokens(tokens, Mode::kAll, Terms{2, 1}));
  EXPECT_TRUE(row_has_tokens(tokens, Mode::kAll, Terms{1, 3}));
  EXPECT_FALSE(row_has_tokens(tokens, Mode::kAll, Terms{2, 3}));
  EXPECT_TRUE(row_has_tokens(tokens, Mode::kPhrase, Terms{3, 1}));
  EXPECT_FALSE(row_has_tokens(tokens, Mode::kPhrase, Terms{2, 3}));
}

TEST(ColumnTerms, GapsAreNoMembersOfASet) {
  const Terms ids = {0, 2};
  const TermSet set(ids, 3);
  EXPECT_TRUE(set(0));
  EXPECT_FALSE(set(1));
  EXPECT_TRUE(set(2));
  EXPECT_FALSE(set(ColumnView::kGap));
}

}  // namespace
}  // namespace quiver::payload
