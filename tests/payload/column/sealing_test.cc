#include "payload/column/sealing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quiver::payload {
namespace {

ColumnView growing_column(const FieldIndex& index, const std::vector<std::string>& documents) {
  auto column = *MutableColumn::create(index);
  for (const auto& document : documents) column->add_row(*parse_json(document));
  return column->view();
}

TEST(Sealing, MergesDictionariesInByteOrder) {
  FieldIndex index;
  index.key = "k";
  const std::vector<ColumnView> sources = {
      growing_column(index, {R"({"k":"pear"})", R"({"k":["fig","apple"]})", R"({"k":"unused"})"}),
      growing_column(index, {R"({"k":"fig"})"})};
  const std::vector<RowOrigin> rows = {{1, 0}, {0, 1}, {0, 0}};
  const ColumnView sealed = seal(sources, rows);
  EXPECT_TRUE(sealed.sealed);
  EXPECT_EQ(sealed.n_rows, 3U);
  ASSERT_EQ(sealed.n_terms(), 3U) << "terms of rows left out are dropped";
  EXPECT_EQ(sealed.term(0), "apple");
  EXPECT_EQ(sealed.term(1), "fig");
  EXPECT_EQ(sealed.term(2), "pear");
  const auto postings = sealed.postings(sealed.find_term("fig"));
  EXPECT_EQ(std::vector<std::uint32_t>(postings.begin(), postings.end()),
            (std::vector<std::uint32_t>{0, 1}));
}

TEST(Sealing, SortsValuesByValueAndRow) {
  FieldIndex index;
  index.key = "n";
  index.kind = IndexKind::kInteger;
  const std::vector<ColumnView> sources = {
      growing_column(index, {R"({"n":[7,-1]})", R"({})", R"({"n":7})"})};
  const std::vector<RowOrigin> rows = {{0, 0}, {0, 1}, {0, 2}};
  const ColumnView sealed = seal(sources, rows);
  const auto values = sealed.sorted_integers.span();
  EXPECT_EQ(std::vector<std::int64_t>(values.begin(), values.end()),
            (std::vector<std::int64_t>{-1, 7, 7}));
  const auto at = sealed.sorted_rows.span();
  EXPECT_EQ(std::vector<std::uint32_t>(at.begin(), at.end()),
            (std::vector<std::uint32_t>{0, 0, 2}));
}

}  // namespace
}  // namespace quiver::payload
