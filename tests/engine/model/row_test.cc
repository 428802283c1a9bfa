#include "engine/model/row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

FieldSchema dense(std::uint32_t dim, DType dtype = DType::kF32, Metric metric = Metric::kDot) {
  return {"", FieldKind::kDense, dim, dtype, metric, SparseModifier::kNone};
}
const FieldSchema kSparse{"words", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};
const FieldSchema kMulti{"tokens", FieldKind::kMulti, 2, DType::kF32, Metric::kDot, {}};

Error error_of(const FieldSchema& field, const VectorValue& value) {
  const auto stored = to_stored(field, value);
  EXPECT_FALSE(stored);
  return stored ? Error(Code::kUnknown, "no error") : stored.error();
}

void expect_refused(const FieldSchema& field, const VectorValue& value, std::string_view text) {
  const Error error = error_of(field, value);
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
}

DenseVector round_trip(const FieldSchema& field, const DenseVector& vector) {
  const auto stored = to_stored(field, vector);
  EXPECT_TRUE(stored) << stored.error().to_string();
  return std::get<DenseVector>(to_value(field, *stored));
}

TEST(RowCode, RoundTrip) {
  Random random(61);
  const auto fields = mixed_fields();
  for (int i = 0; i < 300; ++i) {
    const Row row = random_row(random_id(1000, random), random(), fields, random);
    const auto decoded = decode_row(row.id, encode_row(row), fields);
    ASSERT_TRUE(decoded) << decoded.error().to_string();
    EXPECT_EQ(*decoded, row);
  }
}

TEST(RowCode, CutBytesAreRefused) {
  Random random(62);
  const auto fields = mixed_fields();
  for (int i = 0; i < 20; ++i) {
    const Row row = random_row(PointId::number(7), 9, fields, random);
    const std::string good = encode_row(row);
    for (std::size_t n = 0; n < good.size(); ++n) {
      const auto decoded = decode_row(row.id, std::string_view(good).substr(0, n), fields);
      ASSERT_FALSE(decoded) << n << " of " << good.size() << " bytes";
      EXPECT_EQ(decoded.error().code(), Code::kDataLoss);
      EXPECT_NE(decoded.error().message().find("point 7"), std::string::npos);
    }
    EXPECT_FALSE(decode_row(row.id, good + '\0', fields)) << "bytes left over";
  }
}

/// Rows are checksummed by the store; damage that gets this far may give other values, but never
/// anything but a row of these fields or kDataLoss.
TEST(RowCode, TurnedBitsNeverCrash) {
  Random random(63);
  const auto fields = mixed_fields();
  const Row row = random_row(PointId::number(7), 9, fields, random);
  const std::string good = encode_row(row);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const auto decoded = decode_row(row.id, bad, fields);
    if (!decoded) {
      EXPECT_EQ(decoded.error().code(), Code::kDataLoss);
    } else {
      EXPECT_EQ(encode_row(*decoded), bad);
    }
  }
}

TEST(RowCode, RowOfOtherFieldsIsRefused) {
  Random random(64);
  const auto fields = mixed_fields();
  const std::string bytes = encode_row(random_row(PointId::number(7), 9, fields, random));
  auto fewer = fields;
  fewer.pop_back();
  EXPECT_FALSE(decode_row(PointId::number(7), bytes, fewer));
  EXPECT_FALSE(decode_row(PointId::number(7), bytes, {}));
}

TEST(ToStored, WrongDimension) {
  EXPECT_EQ(error_of(dense(4), DenseVector{1, 2, 3}).message(),
            "Vector dimension error: expected dim: 4, got 3");
  EXPECT_EQ(error_of(kMulti, MultiVector{1, 3, {1, 2, 3}}).message(),
            "Vector dimension error: expected dim: 2, got 3");
  expect_refused(dense(4), DenseVector{}, "expected dim: 4, got 0");
}

TEST(ToStored, WrongKind) {
  expect_refused(dense(2), SparseVector{{1}, {1}}, "sparse");
  expect_refused(kSparse, DenseVector{1}, "`words`");
  expect_refused(kMulti, SparseVector{{1}, {1}}, "`tokens`");
}

TEST(ToStored, OneVectorIsOneToken) {
  EXPECT_EQ(to_stored(kMulti, DenseVector{1, 2}).value(),
            to_stored(kMulti, MultiVector{1, 2, {1, 2}}).value());
  expect_refused(kMulti, DenseVector{1, 2, 3}, "3");
  expect_refused(kMulti, DenseVector{1, std::numeric_limits<float>::quiet_NaN()}, "position 1");
}

TEST(ToStored, NotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    expect_refused(dense(3), DenseVector{1, bad, 3}, "position 1");
    expect_refused(dense(3, DType::kU8), DenseVector{1, bad, 3}, "finite");
    expect_refused(kSparse, SparseVector{{5, 6}, {1, bad}}, "finite");
    expect_refused(kMulti, MultiVector{1, 2, {bad, 1}}, "finite");
  }
}

TEST(ToStored, CosineIsScaledToUnitLength) {
  const auto vector = round_trip(dense(2, DType::kF32, Metric::kCosine), {3, -4});
  EXPECT_FLOAT_EQ(vector[0], 0.6F);
  EXPECT_FLOAT_EQ(vector[1], -0.8F);
  const auto tiny = round_trip(dense(2, DType::kF32, Metric::kCosine), {3e-30F, 4e-30F});
  EXPECT_FLOAT_EQ(tiny[1], 0.8F);
  EXPECT_EQ(round_trip(dense(2, DType::kF32, Metric::kCosine), {0, 0}), (DenseVector{0, 0}));
  FieldSchema multi = kMulti;
  multi.metric = Metric::kCosine;
  const auto tokens = std::get<MultiVector>(
      to_value(multi, to_stored(multi, MultiVector{2, 2, {3, 4, 0, 9}}).value()));
  EXPECT_FLOAT_EQ(tokens.values[0], 0.6F);
  EXPECT_EQ(tokens.values[3], 1.0F);
}

TEST(ToStored, OtherMetricsKeepTheVector) {
  for (const auto metric : {Metric::kDot, Metric::kEuclid, Metric::kManhattan}) {
    const DenseVector vector = {3, -4.25F, 1e-30F};
    EXPECT_EQ(round_trip(dense(3, DType::kF32, metric), vector), vector);
  }
}

TEST(ToStored, HalfPrecision) {
  const auto field = dense(4, DType::kF16);
  EXPECT_EQ(round_trip(field, {1, -0.5F, 65504, 2049}), (DenseVector{1, -0.5F, 65504, 2048}));
  expect_refused(field, DenseVector{1, 2, 3, 70000}, "65504");
  expect_refused(field, DenseVector{1, 2, 3, -1e30F}, "float16");
  // Scaled before it is converted, so large values are fine under Cosine.
  EXPECT_EQ(round_trip(dense(2, DType::kF16, Metric::kCosine), {0, 1e30F}), (DenseVector{0, 1}));
}

TEST(ToStored, Bf16) {
  const auto field = dense(4, DType::kBf16);
  // 257 is half way between 256 and 258; 259 between 258 and 260: the even one.
  EXPECT_EQ(round_trip(field, {-0.5F, 257, 259, 1e30F}),
            (DenseVector{-0.5F, 256, 260, 0x1.94p99F}));
  EXPECT_EQ(round_trip(field, {0x1.FEp127F, 0x1.FEFFFEp127F, 0, 0}),
            (DenseVector{0x1.FEp127F, 0x1.FEp127F, 0, 0}));
  expect_refused(field, DenseVector{1, 2, 3, 0x1.FFp127F}, "bfloat16");
  expect_refused(field, DenseVector{1, -3.4e38F, 3, 4}, "at most 3.389e38");
  EXPECT_EQ(round_trip(dense(2, DType::kBf16, Metric::kCosine), {0, 3.4e38F}), (DenseVector{0, 1}));
}

TEST(ToStored, Bytes) {
  const auto field = dense(3, DType::kU8, Metric::kCosine);
  EXPECT_EQ(round_trip(field, {0, 255, 7}), (DenseVector{0, 255, 7}));  // not scaled
  EXPECT_EQ(round_trip(field, {256.19F, 1.81F, -0.5F}), (DenseVector{255, 1, 0}));
  EXPECT_EQ(round_trip(field, {-1e30F, 3e38F, 255.99F}), (DenseVector{0, 255, 255}));
}

TEST(CheckRange, NamesNumbersThatWouldBeClamped) {
  const auto bytes = dense(3, DType::kU8);
  EXPECT_TRUE(check_range(bytes, DenseVector{0, 255.5F, 7}));
  EXPECT_TRUE(check_range(dense(3), DenseVector{-1, 256, 7}));
  EXPECT_NE(check_range(bytes, DenseVector{0, 256, 7}).error().message().find("position 1"),
            std::string::npos);
  EXPECT_FALSE(check_range(bytes, DenseVector{0, 0, -0.5F}));
}

/// Vectors come back near what they were; sent again, they stay as they are.
TEST(ToStored, Int8) {
  const auto field = dense(4, DType::kI8);
  EXPECT_EQ(round_trip(field, {-128, 127, 5, 0}), (DenseVector{-128, 127, 5, 0}));
  EXPECT_EQ(round_trip(field, {63.5F, -0.5F, 0.2F, 0.3F}), (DenseVector{63.5F, -0.5F, 0, 0.5F}));
  expect_refused(field, DenseVector{1, 2, 3, 3.1e38F}, "i8 vectors, at most 3e+38 long");
  const auto unit = round_trip(dense(2, DType::kI8, Metric::kCosine), {3e38F, -3e38F});
  EXPECT_FLOAT_EQ(unit[0], std::sqrt(0.5F));
  EXPECT_EQ(unit[1], -unit[0]);
}

TEST(ToStored, Float8) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto e4m3 = dense(4, DType::kE4m3);
  EXPECT_EQ(round_trip(e4m3, {1.0625F, -1.1875F, 449, -1e30F}),
            (DenseVector{1, -1.25F, 448, -448}));
  const auto e5m2 = dense(4, DType::kE5m2);
  EXPECT_EQ(round_trip(e5m2, {1.125F, -1.375F, 1e30F, 1e-9F}), (DenseVector{1, -1.5F, 57344, 0}));
  for (const auto& field : {e4m3, e5m2}) {
    expect_refused(field, DenseVector{1, 2, nan, 4}, "all values must be finite");
    expect_refused(field, DenseVector{1, 2, -infinity, 4}, "all values must be finite");
  }
  EXPECT_EQ(round_trip(dense(2, DType::kE4m3, Metric::kCosine), {0, -3e38F}), (DenseVector{0, -1}));
}

TEST(ToStored, Signs) {
  for (const Metric metric : {Metric::kDot, Metric::kCosine, Metric::kEuclid}) {
    const auto field = dense(9, DType::kBinary, metric);
    const auto signs = round_trip(field, {0.1F, -0.2F, 0, 1e30F, -5, 1, 1, -1, 3});
    EXPECT_EQ(signs, (DenseVector{1, -1, -1, 1, -1, 1, 1, -1, 1}));
    EXPECT_EQ(round_trip(field, signs), signs);
    const auto stored = to_stored(field, signs).value();
    EXPECT_EQ(std::get<Tokens>(stored).bytes, (std::vector{std::byte{0x69}, std::byte{1}}));
  }
}

TEST(ToStored, Turbo) {
  for (const DType dtype : {DType::kTurbo4, DType::kTurbo8, DType::kTurbo16, DType::kI8}) {
    for (const Metric metric : {Metric::kDot, Metric::kCosine, Metric::kManhattan}) {
      const auto field = dense(5, dtype, metric);
      const auto once = round_trip(field, {3, -4, 0.5F, 100, 7});
      EXPECT_NEAR(once[3], metric == Metric::kCosine ? 0.995 : 100, 2);
      EXPECT_EQ(round_trip(field, once), once);
      EXPECT_EQ(round_trip(field, DenseVector(5, 0.0F)), DenseVector(5, 0.0F));
    }
    expect_refused(dense(2, dtype), DenseVector{3e38F, 3e38F}, "at most 3e+38 long");
    EXPECT_TRUE(to_stored(dense(2, dtype, Metric::kCosine), DenseVector{3e38F, 3e38F}));
    FieldSchema multi = kMulti;
    multi.dtype = dtype;
    const auto tokens = to_stored(multi, MultiVector{2, 2, {3, 4, 0, 9}}).value();
    EXPECT_EQ(std::get<Tokens>(tokens).bytes.size(), 2 * vector_bytes(2, dtype));
    const auto value = std::get<MultiVector>(to_value(multi, tokens));
    EXPECT_NEAR(value.values[3], 9, 0.9);
    EXPECT_EQ(to_stored(multi, value).value(), tokens);
  }
}

TEST(ToStored, SparseIsSortedByIndex) {
  const auto stored = to_stored(kSparse, SparseVector{{9, 2, 5}, {1, -2, 0}});
  ASSERT_TRUE(stored);
  EXPECT_EQ(std::get<SparseVector>(*stored), (SparseVector{{2, 5, 9}, {-2, 0, 1}}));
  EXPECT_TRUE(to_stored(kSparse, SparseVector{}));
  expect_refused(kSparse, SparseVector{{1, 7, 1}, {1, 2, 3}}, "index 1 occurs twice");
  expect_refused(kSparse, SparseVector{{1, 2}, {1}}, "must be the same length");
}

TEST(ToStored, MultiVectorNeedsARow) {
  expect_refused(kMulti, MultiVector{0, 2, {}}, "at least one row");
}

TEST(CheckVector, SameAnswersAsToStored) {
  EXPECT_TRUE(check_vector(dense(2), DenseVector{1, 2}));
  EXPECT_EQ(check_vector(dense(2), DenseVector{1}).error().message(),
            error_of(dense(2), DenseVector{1}).message());
  EXPECT_TRUE(check_vector(dense(2, DType::kU8), DenseVector{0.5F, -3})) << "a query may be so";
}

}  // namespace
}  // namespace quiver::engine::testing
