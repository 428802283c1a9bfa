#include "app/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver::app {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CheckText, NamesEachProblemAndItsRemedy) {
  engine::ShardFindings findings;
  findings.n_rows = 5;
  findings.n_segments = 2;
  EXPECT_EQ(findings_text("collection c, shard 0", findings),
            "collection c, shard 0: 5 rows, 2 sound segments\n");
  findings.rows = {"block 7 is damaged"};
  findings.segments = {"segment 3: checksum"};
  const std::string text = findings_text("s", findings);
  EXPECT_THAT(text, HasSubstr("  rows: block 7 is damaged\n    `quiver repair` saves"));
  EXPECT_THAT(text, HasSubstr("  segment: segment 3: checksum\n    the server rebuilds it"));
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
