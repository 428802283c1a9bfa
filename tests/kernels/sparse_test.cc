#include <algorithm>
#include <limits>
#include <map>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240502;
constexpr std::uint32_t kDim = 400;

using SparseTest = KernelTest;
QV_EVERY_LEVEL(SparseTest);

// Arrays of exactly `n` entries, indices below `below`.
struct Sparse {
  Sparse(std::size_t count, std::uint32_t below, std::mt19937& random)
      : n(count), indices(new std::uint32_t[n]), values(random_floats(n, random)) {
    std::vector<std::uint32_t> all(below);
    for (std::uint32_t i = 0; i < below; ++i) all[i] = i;
    std::shuffle(all.begin(), all.end(), random);
    std::sort(all.begin(), all.begin() + static_cast<long>(n));
    std::copy_n(all.begin(), n, indices.get());
  }
  std::size_t n;
  std::unique_ptr<std::uint32_t[]> indices;
  std::unique_ptr<float[]> values;
};

float merge(const KernelTable& k, const Sparse& q, const Sparse& r) {
  return k.sparse.merge(q.indices.get(), q.values.get(), q.n, r.indices.get(), r.values.get(), r.n);
}

float dense(const KernelTable& k, const Sparse& q, const Sparse& r, std::size_t dim) {
  const std::unique_ptr<float[]> array(new float[dim]());
  for (std::size_t i = 0; i < q.n; ++i) {
    if (q.indices[i] < dim) array[q.indices[i]] = q.values[i];
  }
  return k.sparse.dense(array.get(), dim, r.indices.get(), r.values.get(), r.n);
}

Exact exact_dot(const Sparse& q, const Sparse& r) {
  std::map<std::uint32_t, double> weights;
  for (std::size_t i = 0; i < q.n; ++i) weights[q.indices[i]] = q.values[i];
  Exact result;
  for (std::size_t j = 0; j < r.n; ++j) {
    const double term = weights.count(r.indices[j]) ? weights[r.indices[j]] * r.values[j] : 0.0;
    result.similarity += term;
    result.magnitude += std::abs(term);
  }
  return result;
}

TEST_P(SparseTest, BothFormsMeetTheBoundWithTheSameBits) {
  std::mt19937 random(kSeed);
  for (std::size_t n_row = 0; n_row <= 300; ++n_row) {
    const Sparse row(n_row, kDim, random);
    const Sparse query(random() % 60, kDim, random);
    const Exact want = exact_dot(query, row);
    const float merged = merge(k(), query, row);
    ASSERT_NEAR(merged, want.similarity, bound(kDim, want.magnitude))
        << n_row << ", seed " << kSeed;
    ASSERT_TRUE(same_bits(merged, dense(k(), query, row, kDim))) << n_row << ", seed " << kSeed;
    ASSERT_TRUE(same_bits(merged, dense(k(), query, row, kDim + 1000)));
  }
}

TEST_P(SparseTest, IndicesOutsideTheQueryContributeNothing) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim : {0u, 1u, 7u, 100u, 399u}) {
    const Sparse query(std::min(dim, 30u), dim, random);
    Sparse row(200, kDim, random);
    ASSERT_TRUE(same_bits(merge(k(), query, row), dense(k(), query, row, dim))) << "dim " << dim;
    row.indices[199] = std::numeric_limits<std::uint32_t>::max();
    row.indices[198] = 0x80000000u;
    ASSERT_TRUE(same_bits(merge(k(), query, row), dense(k(), query, row, dim))) << "dim " << dim;
  }
}

// A product that underflows to -0, alone or before entries that do not match, must not tell the
// forms apart.
TEST_P(SparseTest, ZeroIsPositive) {
  std::mt19937 random(kSeed);
  for (std::size_t n_row : {1, 2, 17, 40}) {
    Sparse row(n_row, 50, random);
    Sparse query(1, 50, random);
    query.indices[0] = row.indices[0];
    query.values[0] = -1e-30f;
    row.values[0] = 1e-30f;
    EXPECT_TRUE(same_bits(merge(k(), query, row), 0.0f));
    EXPECT_TRUE(same_bits(dense(k(), query, row, 50), 0.0f));
  }
}

TEST_P(SparseTest, NothingInCommonIsZero) {
  const std::uint32_t even[] = {0, 2, 4};
  const std::uint32_t odd[] = {1, 3, 5};
  const float values[] = {1, 2, 3};
  EXPECT_EQ(k().sparse.merge(even, values, 3, odd, values, 3), 0.0f);
  EXPECT_EQ(k().sparse.merge(even, values, 0, odd, values, 3), 0.0f);
  EXPECT_EQ(k().sparse.merge(even, values, 3, odd, values, 0), 0.0f);
}

}  // namespace
}  // namespace quiver::testing
