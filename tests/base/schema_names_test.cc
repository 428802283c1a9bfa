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
  for (std::size_t i = 0; i < kDTypeNames.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(dtype_name(dtype)).value(), dtype);
    EXPECT_EQ(parse_datatype(datatype_name(dtype)).value(), dtype);
  }
}

TEST(SchemaNames, UnknownWordsAreErrorsThatListTheKnownOnes) {
  const auto kind = parse_kind("dens");
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().message(), "`dens` is no kind; one of dense, sparse, multi");
  EXPECT_FALSE(parse_metric(""));
  EXPECT_FALSE(parse_dtype("F32"));
  const auto datatype = parse_datatype("f32");
  ASSERT_FALSE(datatype);
  EXPECT_THAT(datatype.error().message(),
              testing::StartsWith("`f32` is no datatype; one of float32, "));
}

}  // namespace
}  // namespace quiver
