#include "app/inspect/inspect.h"

#include <gtest/gtest.h>

namespace quiver::app {
namespace {

TEST(Inspection, ListsSegmentsFieldsAndFacts) {
  engine::CollectionInfo info;
  info.n_points = 7;
  info.n_segments = 2;
  std::vector<engine::SegmentIndexInfo> indexes(2);
  indexes[0].segment = 3;
  indexes[0].sealed = true;
  indexes[0].index = "flat";
  indexes[0].n_vectors = 4;
  indexes[0].n_bytes = 64;
  indexes[0].description.facts = {{"lists", std::int64_t{12}}, {"graph", false}};
  indexes[0].description.table = "trials";
  indexes[0].description.columns = {"effort", "recall"};
  indexes[0].description.rows = {{std::int64_t{128}, 0.9756}};
  indexes[1].segment = 4;
  indexes[1].field = "title";
  indexes[1].index = "flat";
  EXPECT_EQ(inspection("c", info, indexes),
            "collection c: 7 points, 1 shards, 2 segments\n"
            "  shard 0, segment 3\n"
            "    (default): flat, 4 vectors, 64 bytes\n"
            "      lists 12, graph no\n"
            "      trials:\n"
            "        effort recall\n"
            "        128    0.9756\n"
            "  shard 0, segment 4 (being written)\n"
            "    title: flat, 0 vectors, 0 bytes\n");
}

}  // namespace
}  // namespace quiver::app
