#include "engine/segment/segment_rows.h"

#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

TEST(SegmentRowsView, ShowsColumnsAndDocuments) {
  const CollectionConfig config = numbers_config();
  Row without = number_row(7, config);
  without.vectors[1] = {};
  const Segment segment = segment_of_rows({number_row(5, config), without}, config, 1);
  const SegmentRows rows(*segment.data);
  EXPECT_EQ(rows.n_rows(), 2U);
  EXPECT_EQ(rows.ids()[1], PointId::number(7));
  EXPECT_FALSE(rows.sorted_ids()) << "a growing segment";
  EXPECT_EQ(rows.document(0).value(), R"({"n":5,"odd":1})");
  EXPECT_NE(rows.column("n"), nullptr);
  EXPECT_EQ(rows.column("odd"), nullptr);
  ASSERT_NE(rows.present("far"), nullptr);
  EXPECT_EQ(rows.present("far")[0], 1);
  EXPECT_EQ(rows.present("far")[1], 0);
  EXPECT_EQ(rows.present("nosuch"), nullptr);
}

TEST(MatchingRows, AreLive) {
  const CollectionConfig config = numbers_config();
  std::vector<Row> rows;
  for (std::uint64_t number = 0; number < 6; ++number) rows.push_back(number_row(number, config));
  Segment segment = segment_of_rows(rows, config, 1);
  auto deleted = std::make_shared<Bitset>(6);
  deleted->set(3);
  segment.deleted = std::move(deleted);
  segment.n_deleted = 1;
  const auto numbers = [&](const payload::Predicate* predicate) {
    Numbers found;
    const Cancel cancel;
    const auto matching = matching_rows(segment, predicate, cancel).value();
    matching.for_each([&](std::size_t row) { found.push_back(row); });
    return found;
  };
  const auto odd = payload::compile(only_odd(), config.indexes).value();
  const auto everything = payload::compile({}, config.indexes).value();
  EXPECT_EQ(numbers(nullptr), (Numbers{0, 1, 2, 4, 5}));
  EXPECT_EQ(numbers(everything.get()), (Numbers{0, 1, 2, 4, 5}));
  EXPECT_EQ(numbers(odd.get()), (Numbers{1, 5}));
}

}  // namespace
}  // namespace quiver::engine::testing
