// The steps of OSQ against numbers of a slow reference (osq_reference.py), and their properties.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "encoders/osq/bounds.h"
#include "encoders/osq/cells.h"
#include "encoders/osq/klt.h"
#include "encoders/osq/packing.h"
#include "encoders/osq/signs.h"
#include "tests/encoders/support.h"

namespace quiver::testing {
namespace {

using namespace encoders::osq;

constexpr unsigned kOsqSeed = 20250128;
constexpr std::uint32_t kGoldenDim = 7;

class OsqGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file("tests/encoders/golden/osq.txt");
    ASSERT_TRUE(file) << "run from the root of the sources";
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string name;
      std::size_t n = 0;
      words >> name >> n;
      auto& values = numbers_[name];
      for (double value = 0; words >> value;) values.push_back(value);
      ASSERT_EQ(values.size(), n) << name;
    }
  }

  template <class T>
  [[nodiscard]] std::vector<T> get(const std::string& name) const {
    std::vector<T> values;
    for (const double value : numbers_.at(name)) values.push_back(static_cast<T>(value));
    return values;
  }
  [[nodiscard]] std::size_t n_rows() const { return numbers_.at("rows").size() / kGoldenDim; }

 private:
  std::map<std::string, std::vector<double>> numbers_;
};

template <class T>
void expect_near(const std::vector<T>& found, const std::vector<T>& wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], tolerance * std::max(1.0, std::abs(double{wanted[i]}))) << i;
  }
}

TEST_F(OsqGolden, TheTransformHasTheDirectionsOfTheReference) {
  const Klt klt = train_klt(get<float>("rows"), kGoldenDim).value();
  expect_near(klt.mean, get<float>("mean"), 1e-6);
  expect_near(klt.variances, get<double>("variances"), 1e-6);
  expect_near(klt.directions, get<float>("directions"), 1e-3);
  std::vector<float> centred(kGoldenDim);
  std::vector<float> y(klt.n_out());
  const auto rows = get<float>("rows");
  project(view_of(klt), rows.data() + 5 * kGoldenDim, centred.data(), y.data());
  const auto wanted = get<float>("coordinates");
  for (std::size_t j = 0; j < y.size(); ++j) EXPECT_NEAR(y[j], wanted[5 * y.size() + j], 1e-3);
}

TEST_F(OsqGolden, BitsGoToTheLargestErrors) {
  EXPECT_EQ(allocate_bits(get<double>("variances"), 30), get<std::uint8_t>("bits"));
}

/// Limits of each dimension of the golden coordinates, one after another.
std::vector<float> all_limits(const std::vector<float>& coordinates,
                              const std::vector<std::uint8_t>& bits) {
  std::vector<float> limits;
  for (std::size_t j = 0; j < bits.size(); ++j) {
    std::vector<float> column;
    for (std::size_t i = j; i < coordinates.size(); i += bits.size()) {
      column.push_back(coordinates[i]);
    }
    std::sort(column.begin(), column.end());
    const auto found = cell_limits(column, 1U << bits[j], {});
    limits.insert(limits.end(), found.begin(), found.end());
  }
  return limits;
}

TEST_F(OsqGolden, CellsHaveTheLimitsOfTheReference) {
  const auto limits = all_limits(get<float>("coordinates"), get<std::uint8_t>("bits"));
  expect_near(limits, get<float>("limits"), 1e-6);
  const auto wide = get<float>("wide_values");
  expect_near(cell_limits(wide, 256, {}), get<float>("wide_limits"), 1e-6);
  expect_near(cell_limits(wide, 255, {}), get<float>("narrow_limits"), 1e-6);
}

TEST_F(OsqGolden, CodesSegmentsAndSignsAreThoseOfTheReference) {
  const auto bits = get<std::uint8_t>("bits");
  const auto limits = get<float>("limits");
  const auto coordinates = get<float>("coordinates");
  const Packing packing(bits);
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> segments;
  std::vector<std::uint8_t> signs;
  for (std::size_t row = 0; row < n_rows(); ++row) {
    const auto y = std::span(coordinates).subspan(row * bits.size(), bits.size());
    std::size_t first = 0;
    for (std::size_t j = 0; j < bits.size(); ++j) {
      const std::size_t n = (std::size_t{1} << bits[j]) + 1;
      codes.push_back(cell_of(std::span(limits).subspan(first, n), y[j]));
      first += n;
    }
    std::vector<std::byte> bytes(packing.n_segments());
    packing.pack(std::span(codes).last(bits.size()), bytes.data());
    for (const std::byte byte : bytes) segments.push_back(std::to_integer<std::uint8_t>(byte));
    bytes.assign(sign_bytes(bits.size()), std::byte{0});
    write_signs(y, bytes.data());
    for (const std::byte byte : bytes) signs.push_back(std::to_integer<std::uint8_t>(byte));
  }
  EXPECT_EQ(codes, get<std::uint8_t>("codes"));
  EXPECT_EQ(segments, get<std::uint8_t>("packed"));
  EXPECT_EQ(signs, get<std::uint8_t>("signs"));
}

TEST_F(OsqGolden, BoundsAreThoseOfTheReference) {
  const auto bits = get<std::uint8_t>("bits");
  const auto limits = get<float>("limits");
  const auto query = get<float>("query");
  auto packed = get<std::uint8_t>("packed");
  const Packing packing(bits);
  packed.resize(packed.size() + 8);
  const Codebook codebook{bits, limits, &packing};
  for (const auto& [name, similarity, bound] :
       {std::tuple{"euclid_lower", Similarity::kNegL2Squared, Bound::kLower},
        {"euclid_upper", Similarity::kNegL2Squared, Bound::kUpper},
        {"dot_lower", Similarity::kDot, Bound::kLower},
        {"dot_upper", Similarity::kDot, Bound::kUpper}}) {
    SCOPED_TRACE(name);
    std::vector<float> scratch;
    const BoundTables tables(codebook, similarity, bound, query, scratch);
    std::vector<float> found;
    for (std::size_t row = 0; row < n_rows(); ++row) {
      const auto* segments =
          reinterpret_cast<const std::byte*>(packed.data() + row * packing.n_segments());
      found.push_back(tables.bound(segments));
      EXPECT_EQ(tables.bound(segments, found.back()), found.back()) << "equal to the limit";
      EXPECT_GT(tables.bound(segments, found.back() - 0.001F), found.back() - 0.001F);
    }
    expect_near(found, get<float>(name), 1e-5);
  }
}

TEST_F(OsqGolden, CodesThatStraddleSegments) {
  const auto bits = get<std::uint8_t>("straddle_bits");
  const auto codes = get<std::uint8_t>("straddle_codes");
  const auto wanted = get<std::uint8_t>("straddle_packed");
  const Packing packing(bits);
  const std::size_t n = codes.size() / bits.size();
  ASSERT_EQ(wanted.size(), n * packing.n_segments());
  std::vector<std::byte> rows(wanted.size() + 1);
  for (std::size_t i = 0; i < n; ++i) {
    packing.pack(std::span(codes).subspan(i * bits.size(), bits.size()),
                 rows.data() + i * packing.n_segments());
  }
  EXPECT_EQ(std::memcmp(rows.data(), wanted.data(), wanted.size()), 0);
  std::vector<std::uint8_t> column(n);
  for (std::size_t d = 0; d < bits.size(); ++d) {
    packing.unpack_column(rows.data(), n, d, column.data());
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(column[i], codes[i * bits.size() + d]) << d;
  }
}

TEST(OsqPacking, EveryWidthAtEveryOffset) {
  std::mt19937 random(kOsqSeed);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint8_t> bits(1 + random() % 40);
    for (auto& b : bits) b = static_cast<std::uint8_t>(random() % 9);
    const Packing packing(bits);
    std::size_t total = 0;
    for (const auto b : bits) total += b;
    EXPECT_EQ(packing.n_segments(), (total + 7) / 8) << "no padding but at the end";
    std::vector<std::uint8_t> codes;
    for (const auto b : bits) codes.push_back(static_cast<std::uint8_t>(random() % (1U << b)));
    std::vector<std::byte> segments(packing.n_segments() + 2, std::byte{0xff});
    packing.pack(codes, segments.data());
    EXPECT_EQ(segments[packing.n_segments()], std::byte{0xff}) << "nothing beyond the row";
    for (std::size_t d = 0; d < bits.size(); ++d) {
      EXPECT_EQ(packing.code(segments.data(), d), codes[d]);
    }
  }
}

TEST(OsqBits, TheSumIsTheBudgetAndNoDimensionHasMoreThanEight) {
  std::mt19937 random(kOsqSeed);
  for (const std::uint64_t budget : {0, 1, 7, 40, 159, 160, 161, 5000}) {
    std::vector<double> variances;
    for (int d = 0; d < 20; ++d) variances.push_back(std::exp2(random() % 30));
    const auto bits = allocate_bits(variances, budget);
    std::uint64_t sum = 0;
    for (const auto b : bits) sum += b;
    EXPECT_EQ(sum, std::min<std::uint64_t>(budget, 20 * kMaxBits));
    for (const auto b : bits) EXPECT_LE(b, kMaxBits);
  }
  EXPECT_EQ(allocate_bits(std::vector<double>{0, 1, 0}, 20), (std::vector<std::uint8_t>{0, 8, 0}));
  EXPECT_TRUE(allocate_bits({}, 20).empty());
}

TEST(OsqCells, ConstantAndRepeatedValues) {
  const std::vector<float> same(50, 0.25F);
  for (const std::uint32_t n : {1U, 2U, 255U, 256U}) {
    const auto limits = cell_limits(same, n, {});
    ASSERT_EQ(limits.size(), n + 1);
    EXPECT_EQ(limits.front(), 0.25F);
    EXPECT_EQ(limits.back(), 0.25F);
    EXPECT_LT(cell_of(limits, 0.25F), n);
  }
  std::vector<float> two(30, -1.0F);
  two.resize(60, 1.0F);
  const auto limits = cell_limits(two, 4, {});
  EXPECT_TRUE(std::is_sorted(limits.begin(), limits.end()));
  EXPECT_NE(cell_of(limits, -1), cell_of(limits, 1));
  EXPECT_EQ(cell_limits(std::vector<float>{3}, 8, {}), std::vector<float>(9, 3.0F)) << "one value";
}

TEST(OsqCells, LloydReducesTheErrorOfEqualPopulations) {
  std::mt19937 random(kOsqSeed);
  auto values = normal_vector(3000, random);
  std::sort(values.begin(), values.end());
  const auto error = [&](const std::vector<float>& limits) {
    std::vector<double> sums(limits.size() - 1, 0);
    std::vector<double> squares = sums;
    std::vector<double> counts = sums;
    for (const float value : values) {
      const auto cell = cell_of(limits, value);
      sums[cell] += value;
      squares[cell] += double{value} * value;
      ++counts[cell];
    }
    double total = 0;
    for (std::size_t c = 0; c < sums.size(); ++c) {
      if (counts[c] != 0) total += squares[c] - sums[c] * sums[c] / counts[c];
    }
    return total / static_cast<double>(values.size());
  };
  const double equal = error(cell_limits(values, 16, {.tolerance = 0, .max_iterations = 0}));
  const double best = error(cell_limits(values, 16, {.tolerance = 0, .max_iterations = 250}));
  EXPECT_LT(best, 0.7 * equal);
  EXPECT_NEAR(best, 0.0095, 0.001) << "of the best 16 cells of a normal distribution";
}

TEST(OsqKlt, RowsAreUncorrelatedAndDescendWithFewOrManyRows) {
  std::mt19937 random(kOsqSeed);
  constexpr std::uint32_t kDim = 20;
  const auto mixing = normal_vector(kDim * kDim, random);
  for (const std::size_t n : {2, 8, 20, 21, 400}) {
    SCOPED_TRACE(n);
    std::vector<float> rows;
    for (std::size_t i = 0; i < n; ++i) {
      const auto z = normal_vector(kDim, random);
      for (std::uint32_t d = 0; d < kDim; ++d) {
        double value = 3;
        for (std::uint32_t e = 0; e < kDim; ++e) value += z[e] * mixing[d * kDim + e] / (1.0 + e);
        rows.push_back(static_cast<float>(value));
      }
    }
    const Klt klt = train_klt(rows, kDim).value();
    ASSERT_EQ(klt.n_out(), std::min<std::size_t>(n - 1, kDim));
    std::vector<double> moments(klt.n_out() * klt.n_out(), 0.0);
    std::vector<float> centred(kDim);
    std::vector<float> y(klt.n_out());
    for (std::size_t i = 0; i < n; ++i) {
      project(view_of(klt), rows.data() + i * kDim, centred.data(), y.data());
      EXPECT_NEAR(norm(y), norm(centred), 1e-3 * norm(centred)) << "the rows' space is kept";
      for (std::size_t a = 0; a < y.size(); ++a) {
        for (std::size_t b = 0; b < y.size(); ++b) {
          moments[a * y.size() + b] += double{y[a]} * y[b] / static_cast<double>(n);
        }
      }
    }
    for (std::size_t a = 0; a < y.size(); ++a) {
      for (std::size_t b = 0; b < y.size(); ++b) {
        EXPECT_NEAR(moments[a * y.size() + b], a == b ? klt.variances[a] : 0.0,
                    1e-4 * klt.variances[0]);
      }
      EXPECT_LE(klt.variances[a], klt.variances[a == 0 ? 0 : a - 1]);
    }
  }
}

TEST(OsqKlt, RowsWithoutVarianceHaveNoDirections) {
  const std::vector<float> equal(30, 2.0F);
  for (const std::uint32_t dim : {1U, 3U, 30U}) {
    const Klt klt = train_klt(equal, dim).value();
    EXPECT_EQ(klt.n_out(), 0U);
    EXPECT_EQ(klt.mean, std::vector<float>(dim, 2.0F));
  }
}

TEST(OsqKlt, RefusesWhatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (const std::size_t n : {2, 10}) {
      std::vector<float> rows(n * 4, 1.0F);
      rows[5] = bad;
      const auto klt = train_klt(rows, 4);
      ASSERT_FALSE(klt);
      EXPECT_EQ(klt.error().code(), Code::kInvalidArgument);
    }
  }
}

/// Whatever the bits, bounds contain the cost of each row.
TEST(OsqBounds, ContainTheCost) {
  std::mt19937 random(kOsqSeed);
  for (const auto similarity : {Similarity::kNegL2Squared, Similarity::kDot}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::uint8_t> bits(1 + random() % 30);
      std::vector<float> limits;
      std::vector<std::vector<float>> limits_of;
      const auto values = normal_vector(bits.size() * 50, random);
      for (std::size_t j = 0; j < bits.size(); ++j) {
        bits[j] = static_cast<std::uint8_t>(random() % 9);
        std::vector<float> column(values.begin() + static_cast<std::ptrdiff_t>(j * 50),
                                  values.begin() + static_cast<std::ptrdiff_t>(j * 50 + 50));
        std::sort(column.begin(), column.end());
        limits_of.push_back(cell_limits(column, 1U << bits[j], {}));
        limits.insert(limits.end(), limits_of[j].begin(), limits_of[j].end());
      }
      const Packing packing(bits);
      const auto query = normal_vector(bits.size(), random);
      std::vector<float> low_scratch, high_scratch;
      const Codebook codebook{bits, limits, &packing};
      const BoundTables low(codebook, similarity, Bound::kLower, query, low_scratch);
      const BoundTables high(codebook, similarity, Bound::kUpper, query, high_scratch);
      for (std::size_t i = 0; i < 50; ++i) {
        std::vector<std::uint8_t> codes;
        double cost = 0;
        for (std::size_t j = 0; j < bits.size(); ++j) {
          const float value = values[j * 50 + i];
          codes.push_back(cell_of(limits_of[j], value));
          const double difference = double{query[j]} - value;
          cost +=
              similarity == Similarity::kDot ? -double{query[j]} * value : difference * difference;
        }
        std::vector<std::byte> row(packing.n_segments() + 8);
        packing.pack(codes, row.data());
        EXPECT_LE(low.bound(row.data()), cost + 1e-4);
        EXPECT_GE(high.bound(row.data()), cost - 1e-4);
      }
    }
  }
}

}  // namespace
}  // namespace quiver::testing
