#include "engine/indexing/unwanted_indexes.h"

#include <gtest/gtest.h>

#include "engine/segment/segment_file.h"
#include "tests/engine/indexing/copied_index.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

TEST(UnwantedIndexes, AreDroppedWithTheirFiles) {
  copied_control.fail = copied_control.hold = false;
  Random random(72);
  const auto fields = mixed_fields();
  const std::vector<Segment> inputs = {segment_of(random_rows(30, fields, random), fields)};
  const auto segments = make_memory_directory();
  const auto directory = segments->subdirectory("7").value();
  ASSERT_TRUE(write_segment_file(*directory, inputs, live_rows_by_id(inputs), Cancel(), nullptr));
  auto data = open_segment_file(*directory, 7, fields).value();
  const Cancel cancel;
  const IndexPolicy copies{copied_index, 0};
  install_indexes(data, build_indexes(data, *segments, {copies, cancel}).value());
  const auto indexed = std::make_shared<const SegmentData>(data);
  EXPECT_EQ(without_unwanted_indexes(indexed, *segments, copies), indexed) << "all are wanted";

  VectorIndexConfigs configs;
  configs["half"].enabled = false;
  const IndexPolicy without_half{copied_index, 0,
                                 std::make_shared<const VectorIndexConfigs>(configs)};
  const std::size_t n_before = directory->list().value().size();
  const auto changed = without_unwanted_indexes(indexed, *segments, without_half);
  EXPECT_EQ(changed->indexes[1].type, flat_index());
  EXPECT_NE(changed->indexes[0].type, flat_index());
  EXPECT_NE(indexed->indexes[1].type, flat_index()) << "readers keep what they have";
  EXPECT_EQ(directory->list().value().size(), n_before - 1);
}

}  // namespace
}  // namespace quiver::engine::testing
