#include "app/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver::app {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CheckText, NamesEachProblemAndItsRemedy) {
  engine::CheckReport report;
  report.shards.push_back({"c", 0, 5, 4, 1, 2, 6, 900});
  EXPECT_EQ(report_text(report),
            "collection c, shard 0: 5 rows, 2 sound segments with 4 live rows, 1 not sealed, 900 "
            "bytes\n");
  EXPECT_FALSE(report.is_damaged());
  report.add(engine::Severity::kLeftover, "notes.txt", "no file of Quiver's", "it stays");
  EXPECT_FALSE(report.is_damaged());
  report.add(engine::Severity::kRebuilt, "segments/3", "checksum", "it is rebuilt");
  report.n_snapshots = 1;
  EXPECT_TRUE(report.is_damaged());
  const std::string text = report_text(report);
  EXPECT_THAT(text, HasSubstr("1 snapshot read\n"));
  EXPECT_THAT(text, HasSubstr("leftover  notes.txt: no file of Quiver's\n          it stays\n"));
  EXPECT_THAT(text, HasSubstr("rebuilt   segments/3: checksum\n          it is rebuilt\n"));
}

TEST(CheckText, IsOneJsonObject) {
  engine::CheckReport report;
  report.shards.push_back({"c\"", 1, 5, 4, 1, 2, 6, 900});
  report.add(engine::Severity::kLoss, "catalog", "gone", "copy");
  report.repairs = {"catalog: taken"};
  EXPECT_EQ(report_json(report),
            R"({"damaged":true,"shards":[{"collection":"c\"","shard":1,"points":5,)"
            R"("points_in_segments":4,"points_not_sealed":1,"sound_segments":2,)"
            R"("files_of_segments":6,"bytes":900}],"snapshots":0,"findings":[)"
            R"({"severity":"loss","path":"catalog","problem":"gone","remedy":"copy"}],)"
            R"("repairs":["catalog: taken"]})"
            "\n");
}

TEST(RepairText, SaysWhatIsLostAndWhatMayBeBack) {
  engine::ShardRepair repair;
  repair.n_from_store = 9;
  repair.kept = {"rows.damaged-1"};
  std::string text = repair_text("s", repair);
  EXPECT_THAT(text, HasSubstr("points taken from rows: 9, "));
  EXPECT_THAT(text, HasSubstr("  kept: rows.damaged-1\n"));
  EXPECT_THAT(text, Not(HasSubstr("lost")));
  EXPECT_THAT(text, Not(HasSubstr("may be back")));
  repair.n_lost = 3;
  repair.deletes_are_known = false;
  text = repair_text("s", repair);
  EXPECT_THAT(text, HasSubstr("  lost: 3 points"));
  EXPECT_THAT(text, HasSubstr("may be back in their old version"));
}

}  // namespace
}  // namespace quiver::app
