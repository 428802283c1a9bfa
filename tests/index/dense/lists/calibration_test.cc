#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "index/dense/lists/calibration.h"
#include "tests/index/dense/dense_support.h"

namespace quiver::index::testing {
namespace {

using namespace dense;

/// Rows of one dimension around 0, 100, 200 and 300, a list around each.
struct FourLists {
  explicit FourLists(std::uint32_t n) {
    std::vector<std::optional<PlainVector>> rows;
    Random random(11);
    std::normal_distribution<float> normal;
    for (std::uint32_t i = 0; i < n; ++i) {
      rows.emplace_back(PlainVector{std::vector<float>(32, 0), {}});
      rows.back()->values[0] = 100.0F * static_cast<float>(i % 4) + normal(random);
      list_of.push_back(i % 4);
    }
    column = make_column(dense_schema(32, Metric::kEuclid), rows);
    std::vector<float> centroid(32, 0);
    for (std::uint32_t list = 0; list < 4; ++list) {
      centroid[0] = 100.0F * static_cast<float>(list);
      centroids.resize(centroids.size() + rotation.padded_dim());
      rotation.apply(centroid.data(), &centroids[centroids.size() - rotation.padded_dim()]);
    }
  }
  [[nodiscard]] UsualSearch calibrate() const {
    const RowSource source(column, rotation);
    const std::vector<float> reaches(4, 0);
    const PartitionFacts facts{.spread = 1, .length = 200};
    const Cancel cancel;
    return usual_search(source, {centroids, list_of, {}, reaches}, facts,
                        {nullptr, cancel, 0, nullptr})
        .value();
  }

  FieldColumn column;
  std::vector<std::uint32_t> list_of;
  encoders::Rotation rotation{32, 3};
  std::vector<float> centroids;
};

TEST(Calibration, SeparateListsNeedNoGap) {
  const UsualSearch usual = FourLists(2000).calibrate();
  EXPECT_FLOAT_EQ(usual.gap, 0.01F) << "the smallest that there is";
  EXPECT_EQ(usual.n_codes, 500U) << "the codes of one list";
  ASSERT_TRUE(usual.depths);
  EXPECT_GE(usual.depths->usual, usual.depths->middle);
}

TEST(Calibration, FewRowsHaveTheDefaultGap) {
  const UsualSearch usual = FourLists(400).calibrate();
  EXPECT_FLOAT_EQ(usual.gap, 0.25F);
  EXPECT_EQ(usual.n_codes, 0U);
  EXPECT_FALSE(usual.depths);
}

}  // namespace
}  // namespace quiver::index::testing
