#include "index/dense/lists/kmeans/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/index/dense/lists/kmeans/kmeans_support.h"

namespace quiver::index::dense {
namespace {

using testing::clumped_codes;
using testing::Random;

constexpr std::uint64_t kCodeRowsSeed = 101;

TEST(Spread, ChoosesOneFromEachPart) {
  for (const std::uint32_t n_of : {1U, 7U, 100U, 1001U}) {
    for (const std::uint32_t n : {1U, 2U, 7U, 100U, 1001U}) {
      if (n > n_of) continue;
      SCOPED_TRACE(std::to_string(n) + " of " + std::to_string(n_of));
      const auto chosen = spread(n, n_of, kCodeRowsSeed);
      ASSERT_EQ(chosen.size(), n);
      for (std::uint64_t i = 0; i < n; ++i) {
        EXPECT_GE(chosen[i], i * n_of / n);
        EXPECT_LT(chosen[i], (i + 1) * n_of / n);
      }
      EXPECT_EQ(spread(n, n_of, kCodeRowsSeed), chosen);
    }
  }
  EXPECT_NE(spread(50, 1000, 1), spread(50, 1000, 2));
  EXPECT_TRUE(spread(0, 10, 1).empty());
}

/// `[n, dim]` values, as a `RowReader` reads them.
struct FloatRows {
  std::uint32_t dim = 0;
  std::vector<float> values;

  [[nodiscard]] RowReader reader() const {
    return [this](std::uint32_t row, float* out) {
      std::copy_n(values.data() + std::size_t{row} * dim, dim, out);
    };
  }
};

std::vector<float> decoded(const ByteGrid& grid, const FloatRows& rows, std::uint32_t row) {
  std::vector<float> buffer(grid.dim());
  std::vector<std::uint8_t> codes(grid.dim());
  grid.encode(rows.reader(), row, buffer.data(), codes.data());
  for (std::size_t d = 0; d < codes.size(); ++d) buffer[d] = value_of(codes[d]);
  std::vector<float> out(grid.dim());
  grid.from_codes(buffer.data(), out.data());
  return out;
}

TEST(ByteGrid, ErrsByHalfAStepAndClipsWhatIsFar) {
  SCOPED_TRACE("seed " + std::to_string(kCodeRowsSeed));
  Random random(kCodeRowsSeed);
  std::uniform_real_distribution<float> uniform(-3, 5);
  for (const std::uint32_t dim : {1U, 15U, 16U, 33U}) {
    FloatRows rows{dim, std::vector<float>(std::size_t{500} * dim)};
    for (float& value : rows.values) value = uniform(random);
    rows.values[0] = 1e6F;  // one of five hundred
    std::vector<std::uint32_t> sample(500);
    std::iota(sample.begin(), sample.end(), 0);
    const ByteGrid grid(rows.reader(), sample, dim);
    ASSERT_EQ(grid.dim(), dim);
    std::vector<float> ends[2];
    for (const float code : {-127.5F, 127.5F}) {
      ends[code > 0].resize(dim);
      grid.from_codes(std::vector<float>(dim, code).data(), ends[code > 0].data());
    }
    for (std::uint32_t row = 0; row < 500; ++row) {
      const auto got = decoded(grid, rows, row);
      for (std::uint32_t d = 0; d < dim; ++d) {
        const float step = (ends[1][d] - ends[0][d]) / 255;
        EXPECT_LT(step, 0.05F) << "the far row does not count";
        const float wanted =
            std::clamp(rows.values[std::size_t{row} * dim + d], ends[0][d], ends[1][d]);
        EXPECT_NEAR(got[d], wanted, step * 0.51F) << "row " << row;
      }
    }
  }
}

TEST(ByteGrid, ConvertsValuesToCodesAndBack) {
  Random random(kCodeRowsSeed);
  std::normal_distribution<float> normal;
  FloatRows rows{8, std::vector<float>(80)};
  for (float& value : rows.values) value = normal(random);
  const std::vector<std::uint32_t> sample = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const ByteGrid grid(rows.reader(), sample, 8);
  std::vector<float> codes(8);
  std::vector<float> back(8);
  for (std::size_t row = 0; row < 10; ++row) {
    grid.to_codes(rows.values.data() + row * 8, codes.data());
    grid.from_codes(codes.data(), back.data());
    for (std::size_t d = 0; d < 8; ++d) EXPECT_NEAR(back[d], rows.values[row * 8 + d], 1e-5);
  }
}

TEST(ByteGrid, RowsThatAreAllTheSameDecodeToThemselves) {
  const FloatRows rows{3, {4, 5, 6, 4, 5, 6}};
  const std::vector<std::uint32_t> sample = {0, 1};
  const ByteGrid grid(rows.reader(), sample, 3);
  EXPECT_EQ(decoded(grid, rows, 1), (std::vector<float>{4, 5, 6}));
}

TEST(Members, AreTheRowsOfEachListAscending) {
  Random random(kCodeRowsSeed);
  for (const std::size_t n_lists : {1U, 5U, 100U}) {
    std::vector<std::uint32_t> list_of(60);
    for (auto& list : list_of) list = static_cast<std::uint32_t>(random() % n_lists);
    const Members members(list_of, n_lists);
    ASSERT_EQ(members.n_lists(), n_lists);
    for (std::size_t list = 0; list < n_lists; ++list) {
      std::vector<std::uint32_t> wanted;
      for (std::uint32_t row = 0; row < 60; ++row) {
        if (list_of[row] == list) wanted.push_back(row);
      }
      const auto found = members.of(list);
      EXPECT_EQ(std::vector(found.begin(), found.end()), wanted) << "list " << list;
    }
  }
  EXPECT_TRUE(Members({}, 3).of(2).empty());
}

TEST(MeanOfCodes, IsThatOfDoubleArithmetic) {
  Random random(kCodeRowsSeed);
  const ByteMatrix rows = clumped_codes(1000, 19, 3, random);
  for (const std::uint32_t n : {1U, 2U, 256U, 257U, 258U, 1000U}) {
    const auto members = spread(n, 1000, n);
    std::vector<float> mean(19);
    mean_of(rows.view(), members, mean.data());
    for (std::size_t d = 0; d < 19; ++d) {
      double sum = 0;
      for (const std::uint32_t row : members) sum += value_of(rows.view().at(row)[d]);
      EXPECT_NEAR(mean[d], sum / n, 1e-4) << n << " members";
    }
  }
}

}  // namespace
}  // namespace quiver::index::dense
