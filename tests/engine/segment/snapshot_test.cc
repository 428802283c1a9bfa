#include "engine/segment/snapshot.h"

#include <gtest/gtest.h>

#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

TEST(SelectedFields, ByNameOrAll) {
  CollectionConfig config;
  config.fields = mixed_fields();
  EXPECT_EQ(selected_fields({true, {}}, config).value().size(), config.fields.size());
  EXPECT_EQ(selected_fields({false, {"words", "half"}}, config).value(),
            (std::vector<std::size_t>{3, 1}));
  const auto unknown = selected_fields({false, {"no"}}, config);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message(), "vector field `no` does not exist");
}

TEST(Snapshot, ReadsAllShards) {
  Random random(10);
  const auto fields = mixed_fields();
  std::vector<Row> rows = random_rows(20, fields, random);
  std::vector<std::shared_ptr<const SegmentSet>> shards;
  for (const std::size_t first : {0, 10}) {
    SegmentSet set;
    const std::vector<Row> part(rows.begin() + static_cast<std::ptrdiff_t>(first),
                                rows.begin() + static_cast<std::ptrdiff_t>(first) + 10);
    set.segments.push_back(segment_of(part, fields));
    shards.push_back(std::make_shared<const SegmentSet>(std::move(set)));
  }
  const Snapshot snapshot(shards);
  EXPECT_EQ(snapshot.segments().size(), 2U);
  EXPECT_EQ(snapshot.n_live(), 20U);
  EXPECT_TRUE(snapshot.check());
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4};
  for (const Row& row : rows) {
    const auto place = snapshot.find(row.id);
    ASSERT_TRUE(place);
    const auto record = make_record(*place->segment, place->row, payload::Selector::all(), &all);
    EXPECT_EQ(record.id, row.id);
    EXPECT_EQ(record.version, row.seq);
    EXPECT_EQ(record.payload, row.payload);
    std::size_t n_present = 0;
    for (const auto& vector : row.vectors) n_present += is_present(vector) ? 1 : 0;
    EXPECT_EQ(record.vectors->size(), n_present);
  }
  EXPECT_FALSE(snapshot.find(PointId::number(~0ULL)));
}

}  // namespace
}  // namespace quiver::engine::testing
