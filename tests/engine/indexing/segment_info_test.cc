#include "engine/indexing/segment_info.h"

#include <gtest/gtest.h>

#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

TEST(SegmentInfos, CountLiveAndDeletedVectors) {
  Random random(4);
  const auto fields = mixed_fields();
  const auto rows = random_rows(40, fields, random);
  SegmentSet set;
  set.segments.push_back(with_deleted(segment_of(rows, fields, 6), {0, 3}));
  const auto infos = segment_infos(set, IndexPolicy());
  ASSERT_EQ(infos.size(), 1U);
  EXPECT_EQ(infos[0].id, 6U);
  EXPECT_FALSE(infos[0].sealed);
  EXPECT_EQ(infos[0].n_points, 38U);
  ASSERT_EQ(infos[0].fields.size(), fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f) {
    std::uint64_t n_deleted = 0;
    std::uint64_t n_present = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!is_present(rows[i].vectors[f])) continue;
      ++(i == 0 || i == 3 ? n_deleted : n_present);
    }
    EXPECT_EQ(infos[0].fields[f].field, fields[f].name);
    EXPECT_EQ(infos[0].fields[f].n_vectors, n_present);
    EXPECT_EQ(infos[0].fields[f].n_deleted_vectors, n_deleted);
    EXPECT_FALSE(infos[0].fields[f].is_indexed);
  }
}

}  // namespace
}  // namespace quiver::engine::testing
