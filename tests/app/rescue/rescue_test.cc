#include "app/rescue/rescue.h"

#include <gtest/gtest.h>

namespace quiver::app {
namespace {

TEST(RescueText, SaysWhatWasTakenAndWhatIsLost) {
  engine::RescueReport report;
  engine::RescuedPart part;
  part.collection = "c";
  part.shard = 2;
  part.n_points = 9;
  part.repair.n_from_store = 7;
  part.repair.n_from_segments = 2;
  report.shards.push_back(part);
  report.n_aliases = 1;
  report.lost = {"collection c, shard 2: something"};
  report.left_over = {"snapshots: not taken"};
  EXPECT_EQ(rescue_text(report),
            "collection c, shard 2: 9 points; taken from rows: 7, from logs after damage: 0, from "
            "segments: 2\n"
            "aliases: 1\n"
            "lost      collection c, shard 2: something\n"
            "left out  snapshots: not taken\n");
  EXPECT_EQ(rescue_json(report),
            R"({"shards":[{"collection":"c","shard":2,"points":9,"from_rows":7,"from_logs":0,)"
            R"("from_segments":2,"older_versions":0}],"aliases":1,)"
            R"("lost":["collection c, shard 2: something"],"left_out":["snapshots: not taken"]})"
            "\n");
}

}  // namespace
}  // namespace quiver::app
