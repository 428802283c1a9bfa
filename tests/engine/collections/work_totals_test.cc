#include "engine/collections/work_totals.h"

#include <gtest/gtest.h>

namespace quiver::engine {
namespace {

TEST(WorkTotals, SumsCounters) {
  WorkTotals totals;
  index::WorkCounters work;
  work.n_lists = 1;
  work.n_blocks = 2;
  work.n_codes_scored = 3;
  work.n_rows_scored = 4;
  work.n_bytes = 5;
  totals.add(work);
  totals.add(work);
  EXPECT_EQ(totals.load().n_lists, 2U);
  EXPECT_EQ(totals.load().n_blocks, 4U);
  EXPECT_EQ(totals.load().n_codes_scored, 6U);
  EXPECT_EQ(totals.load().n_rows_scored, 8U);
  EXPECT_EQ(totals.load().n_bytes, 10U);
}

}  // namespace
}  // namespace quiver::engine
