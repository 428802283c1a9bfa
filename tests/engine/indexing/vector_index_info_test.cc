#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/indexing/vector_index_info.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

TEST(VectorIndexInfo, SegmentsAreSummedByFieldAndIndex) {
  Random random(41);
  const auto fields = mixed_fields();
  auto set = std::make_shared<SegmentSet>();
  set->segments.push_back(segment_of(random_rows(20, fields, random), fields, 1));
  set->segments.push_back(segment_of(random_rows(30, fields, random), fields, 2));
  std::uint64_t n_vectors = 0;
  for (const Segment& segment : set->segments) n_vectors += segment.data->fields[0].n_present;
  const auto infos = vector_index_info(Snapshot({set}));
  ASSERT_EQ(infos.size(), fields.size()) << "one index for each field: flat";
  EXPECT_EQ(infos[0].field, "");
  EXPECT_EQ(infos[0].index, "flat");
  EXPECT_EQ(infos[0].n_vectors, n_vectors);
  std::vector<SegmentIndexInfo> parts;
  add_segment_indexes(*set, 3, parts);
  ASSERT_EQ(parts.size(), 2 * fields.size());
  EXPECT_EQ(parts.back().shard, 3U);
  EXPECT_EQ(parts.back().field, fields.back().name);
  EXPECT_FALSE(parts.back().sealed);
}

}  // namespace
}  // namespace quiver::engine::testing
