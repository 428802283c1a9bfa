#include "base/schema_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver {
namespace {

TEST(SchemaNames, WordsAndValuesRoundTrip) {
  for (const auto kind : {FieldKind::kDense, FieldKind::kSparse, FieldKind::kMulti}) {
    EXPECT_EQ(parse_kind(kind_name(kind)).value(), kind);
  }
  for (const auto metric : {Metric::kDot, Metric::kCosine, Metric::kEuclid, Metric::kManhattan}) {
    EXPECT_EQ(parse_metric(metric_name(metric)).value(), metric);
  }
  for (const auto dtype :
       {DType::kF32, DType::kF16, DType::kU8, DType::kTurbo4, DType::kTurbo8, DType::kTurbo16}) {
    EXPECT_EQ(parse_dtype(dtype_name(dtype)).value(), dtype);
  }
}

TEST(SchemaNames, UnknownWordsAreErrorsThatListTheKnownOnes) {
  const auto kind = parse_kind("dens");
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().message(), "`dens` is no kind; one of dense, sparse, multi");
  EXPECT_FALSE(parse_metric(""));
  EXPECT_FALSE(parse_dtype("F32"));
}

}  // namespace
}  // namespace quiver
