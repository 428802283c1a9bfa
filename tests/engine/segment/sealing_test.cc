#include "engine/segment/sealing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

class Sealing : public ::testing::Test {
 protected:
  Result<SegmentData> seal(const Cancel& cancel, const std::function<void(double)>& progress) {
    rows_ = live_rows_by_id({&input_, 1});
    return write_segment({7, {&input_, 1}, rows_, {}}, *segments_, fields_, cancel, progress);
  }

  const std::vector<FieldSchema> fields_ = mixed_fields();
  Random random_{31};
  Segment input_ = segment_of(random_rows(40, fields_, random_), fields_);
  std::vector<RowRef> rows_;
  std::unique_ptr<Directory> segments_ = make_memory_directory();
};

TEST_F(Sealing, ReportsProgressThatNeverGoesBack) {
  std::vector<double> shares;
  ASSERT_TRUE(seal(Cancel(), [&](double share) { shares.push_back(share); }));
  ASSERT_FALSE(shares.empty());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_GE(shares.front(), 0);
  EXPECT_LE(shares.back(), 1);
}

TEST_F(Sealing, EndsWithAnErrorWhenCancelled) {
  const Cancel cancel;
  cancel.cancel();
  const auto sealed = seal(cancel, nullptr);
  ASSERT_FALSE(sealed);
  EXPECT_EQ(sealed.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::engine::testing
