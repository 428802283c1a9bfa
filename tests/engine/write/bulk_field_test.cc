#include "engine/write/bulk_field.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "engine/model/row.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

TEST(ForEachBlock, CoversAllRowsAndReturnsTheFirstError) {
  Executor executor(2, "test");
  constexpr std::size_t kRows = 3 * BulkBlock::kRows + 5;
  std::atomic<std::size_t> n_seen = 0;
  EXPECT_TRUE(for_each_block(kRows, executor, [&](BulkBlock block) {
    n_seen += block.end - block.first;
    return Result<>();
  }));
  EXPECT_EQ(n_seen, kRows);
  const auto failed = for_each_block(kRows, executor, [](BulkBlock block) -> Result<> {
    if (block.number == 0) return {};
    return fail(Code::kInvalidArgument, std::to_string(block.number));
  });
  EXPECT_EQ(failed.error().message(), "1");
}

/// Converts random vectors of every kind and type as `to_stored` does.
TEST(MakeColumn, RowsAreThoseOfAnUpsert) {
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  Executor executor(2, "test");
  for (const FieldSchema& schema : mixed_fields()) {
    if (schema.kind != FieldKind::kDense) continue;
    SCOPED_TRACE(schema.name);
    constexpr std::size_t kRows = 50;
    std::vector<PointId> ids;
    for (std::size_t i = 0; i < kRows; ++i) ids.push_back(PointId::number(i));
    const auto values = random_floats(kRows * schema.dim, schema.dtype, random);
    const auto column =
        make_column(ids, {schema.name, DenseRows{values}, {}}, schema, executor).value();
    EXPECT_EQ(column.n_present, kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
      const DenseVector vector(values.begin() + i * schema.dim,
                               values.begin() + (i + 1) * schema.dim);
      const auto stored = std::get<Tokens>(to_stored(schema, vector).value());
      const auto* row = column.dense().rows().row(i);
      EXPECT_TRUE(std::equal(stored.bytes.begin(), stored.bytes.end(), row)) << i;
    }
  }
}

TEST(MakeColumn, ErrorsNameThePoint) {
  Executor executor(1, "test");
  const FieldSchema schema{"v",         FieldKind::kDense, 1,
                           DType::kF32, Metric::kDot,      SparseModifier::kNone};
  const std::vector<PointId> ids = {PointId::number(4), PointId::number(5)};
  const std::vector<float> values = {1, std::numeric_limits<float>::quiet_NaN()};
  const auto column = make_column(ids, {"v", DenseRows{values}, {}}, schema, executor);
  ASSERT_FALSE(column);
  EXPECT_EQ(column.error().code(), Code::kInvalidArgument);
  EXPECT_NE(column.error().message().find('5'), std::string::npos) << column.error().message();
}

}  // namespace
}  // namespace quiver::engine::testing
