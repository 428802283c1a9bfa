#include "payload/filter/evaluation.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace quiver::payload {
namespace {

/// Four rows with ids 1 to 4 and at most one column; documents must not be read.
class ColumnRows : public RowsView {
 public:
  explicit ColumnRows(ColumnView column) : column_(std::move(column)) {
    for (std::uint64_t id = 1; id <= 4; ++id) ids_.push_back(PointId::number(id));
  }
  [[nodiscard]] std::uint32_t n_rows() const override { return 4; }
  [[nodiscard]] std::span<const PointId> ids() const override { return ids_; }
  [[nodiscard]] bool sorted_ids() const override { return true; }
  [[nodiscard]] Result<std::string_view> document(std::uint32_t /*row*/) const override {
    return fail(Code::kInternal, "a document was read");
  }
  [[nodiscard]] const ColumnView* column(std::string_view key) const override {
    return key == column_.index->key ? &column_ : nullptr;
  }
  [[nodiscard]] const std::uint8_t* present(std::string_view /*name*/) const override {
    return nullptr;
  }

 private:
  ColumnView column_;
  std::vector<PointId> ids_;
};

class EvaluationTest : public testing::Test {
 protected:
  void SetUp() override {
    index_.key = "k";
    auto column = *MutableColumn::create(index_);
    for (const char* document : {R"({"k":"a"})", R"({"k":"b"})", R"({"k":["a","b"]})", "{}"}) {
      documents_.push_back(*parse_json(document));
      column->add_row(documents_.back());
    }
    column_ = column->view();
  }
  [[nodiscard]] std::shared_ptr<const FilterTree> tree(const Filter& filter) const {
    return *build_tree(filter, std::span(&index_, 1));
  }

  FieldIndex index_;
  ColumnView column_;
  std::vector<Value> documents_;
};

Filter a_without_b() {
  Filter filter;
  filter.must.push_back(FieldCondition{"k", MatchValue{std::string("a")}});
  filter.must_not.push_back(FieldCondition{"k", MatchValue{std::string("b")}});
  return filter;
}

TEST_F(EvaluationTest, DocumentsAndColumnsAgree) {
  const auto built = tree(a_without_b());
  const ColumnRows rows(column_);
  const auto verdict = match_columns(*built, rows, RowSet(Bitset(4, true)), Cancel());
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->maybe.none());
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(verdict->yes.test(row), tree_matches(*built, {documents_[row]})) << row;
  }
  EXPECT_EQ(verdict->yes.count(), 1U);
}

TEST_F(EvaluationTest, WithoutAColumnEveryRowMayMatch) {
  FieldIndex other;
  other.key = "other";
  const ColumnRows rows((*MutableColumn::create(other))->view());
  const auto verdict = match_columns(*tree(a_without_b()), rows, RowSet(Bitset(4, true)), Cancel());
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->yes.none());
  EXPECT_EQ(verdict->maybe.count(), 4U);
  const Estimate estimate = estimate_tree(*tree(a_without_b()), rows);
  EXPECT_EQ(estimate.min, 0U);
  EXPECT_EQ(estimate.max, 4U);
}

TEST_F(EvaluationTest, IdConditionsFailWithoutAnId) {
  Filter filter;
  filter.must.push_back(HasId{{PointId::number(2)}});
  const PointId id = PointId::number(2);
  EXPECT_TRUE(tree_matches(*tree(filter), {documents_[1], &id}));
  EXPECT_FALSE(tree_matches(*tree(filter), {documents_[1]}));
}

}  // namespace
}  // namespace quiver::payload
