#include <gtest/gtest.h>

#include <unistd.h>
#include <cstddef>
#include <future>

#include "engine/database.h"
#include "engine/indexing/drift.h"
#include "engine/indexing/query_samples.h"
#include "tests/engine/indexing/copied_index.h"
#include "tests/engine/indexing/query_samples_support.h"
#include "tests/patience.h"

namespace quiver::engine::testing {
namespace {

TEST(FieldFits, BuildsAnewWhatFindsTooLittle) {
  FieldFits fits;
  EXPECT_FALSE(fits.note_measured(1, 0.97));
  EXPECT_FALSE(fits.next_drifted());
  EXPECT_TRUE(fits.note_measured(1, 0.9));
  EXPECT_FALSE(fits.note_measured(1, 0.8)) << "it is to be built already";
  EXPECT_TRUE(fits.note_measured(0, 0.5));
  EXPECT_EQ(fits.next_drifted(), 0U);
  fits.note_rebuilt(0);
  EXPECT_EQ(fits.next_drifted(), 1U);
}

TEST(FieldFits, LeavesWhatFindsNoMoreWhenNew) {
  FieldFits fits;
  EXPECT_TRUE(fits.note_measured(0, 0.7));
  fits.note_rebuilt(0);
  EXPECT_FALSE(fits.note_measured(0, 0.8));
  EXPECT_FALSE(fits.note_measured(0, 0.76));
  EXPECT_TRUE(fits.note_measured(0, 0.74)) << "less than .8 by more than .05";
  fits.note_rebuilt(0);
  EXPECT_FALSE(fits.note_measured(0, 0.96));
  EXPECT_TRUE(fits.note_measured(0, 0.9));
}

}  // namespace
}  // namespace quiver::engine::testing
