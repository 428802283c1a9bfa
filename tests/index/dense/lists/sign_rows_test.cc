// Sign codes against exact scores.
#include "index/dense/lists/sign_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/lists/coding_support.h"

namespace quiver::index::dense {
namespace {

using namespace quiver::index::testing;

constexpr SectionFormat kFormat{"sign codes", "QVTEST01", "QVTESTND"};

/// Sign codes of a column, by way of a file.
struct Signs {
  explicit Signs(const FieldColumn& column)
      : rotation(column.dense().dim, 3),
        source(column, rotation),
        similarity(similarity_of(column.schema.metric)),
        directory(make_memory_directory()) {
    SectionWriter writer(kFormat, *directory->create_file("signs"));
    const Cancel cancel;
    EXPECT_TRUE(
        SignRows::write(source, similarity, column.n_rows, {nullptr, cancel, 0, nullptr}, writer));
    EXPECT_TRUE(writer.finish(column.n_rows));
    const auto reader = SectionReader::open(kFormat, *directory, "signs");
    EXPECT_TRUE(reader);
    auto opened = SignRows::open(*reader, similarity, rotation.padded_dim(), column.n_rows);
    EXPECT_TRUE(opened);
    rows = *std::move(opened);
  }
  RowTransform rotation;
  RowSource source;
  Similarity similarity;
  std::unique_ptr<Directory> directory;
  SignRows rows;
};

/// Errors of estimates, in the deviations that they are told to have.
struct EstimateErrors {
  void add(double error) {
    squares += error * error;
    sum += error;
    ++n;
  }
  [[nodiscard]] double usual() const { return std::sqrt(squares / n); }
  [[nodiscard]] double mean() const { return sum / n; }
  double squares = 0, sum = 0, n = 0;
};

/// Of `n` rows estimated by `view` for the rotated query.
void add_errors(const Signs& signs, std::span<const float> rotated, const SignQueryView& view,
                float deviation, EstimateErrors& of_all, EstimateErrors& of_nearest) {
  constexpr std::size_t kNearest = 10;
  std::vector<float> estimates(signs.source.n());
  signs.rows.score(view, signs.source.rows(), estimates.data());
  std::vector<std::pair<double, double>> errors;  // exact score, error
  std::vector<float> row(signs.source.dim());
  for (std::uint32_t i = 0; i < signs.source.n(); ++i) {
    signs.source.read(i, row.data());
    const double exact = score_of(signs.similarity, rotated, row);
    errors.emplace_back(exact, (estimates[i] - exact) / deviation);
    of_all.add(errors.back().second);
  }
  std::sort(errors.begin(), errors.end(), std::greater<>());
  for (std::size_t i = 0; i < kNearest; ++i) of_nearest.add(errors[i].second);
}

TEST(SignRows, ErrAsOftenAsTheySay) {
  Random random(kIvfSeed);
  for (const Metric metric : {Metric::kDot, Metric::kEuclid, Metric::kCosine}) {
    for (const std::uint32_t dim : {64U, 100U, 384U}) {
      const FieldSchema schema = dense_schema(dim, metric, DType::kF32);
      SCOPED_TRACE(describe(schema));
      Clumps clumps(schema, 20, random);
      const FieldColumn column = clumps.column(400, 0.9);
      const Signs signs(column);
      EstimateErrors fine, coarse, fine_near, coarse_near;
      for (int q = 0; q < 20; ++q) {
        const PreparedQuery query = clumps.query();
        std::vector<float> rotated(signs.rotation.padded_dim());
        signs.rotation.apply_to_row(query.values().data(), rotated.data());
        SignQuery prepared;
        signs.rows.prepare(rotated, prepared);
        EXPECT_GT(prepared.coarse_deviation, prepared.deviation);
        add_errors(signs, rotated, prepared.fine, prepared.deviation, fine, fine_near);
        add_errors(signs, rotated, prepared.coarse, prepared.coarse_deviation, coarse, coarse_near);
      }
      // The query is rounded to 4 bits, so errors are a little larger than those of the rows.
      for (const EstimateErrors* errors : {&fine, &coarse}) {
        EXPECT_LT(errors->usual(), 1.5);
        EXPECT_LT(std::abs(errors->mean()), 0.5);
      }
      EXPECT_LT(std::abs(fine_near.mean()), 0.5);
      EXPECT_GT(coarse_near.mean(), -0.5) << "the nearest rows may be overestimated only";
    }
  }
}

TEST(SignRows, ZeroAndHugeRowsAreNumbers) {
  for (const Metric metric : {Metric::kDot, Metric::kEuclid}) {
    std::vector<std::optional<PlainVector>> vectors;
    for (const float value : {0.0F, 1.0F, 3e18F, 3e37F, -3e37F, 1e-38F}) {
      vectors.push_back(PlainVector{std::vector<float>(70, value), {}});
    }
    const Signs signs(make_column(dense_schema(70, metric), vectors));
    for (const float value : {0.0F, 1.0F, 1e19F, -3e37F}) {
      const std::vector<float> query(70, value);
      std::vector<float> rotated(signs.rotation.padded_dim());
      signs.rotation.apply_to_row(query.data(), rotated.data());
      SignQuery prepared;
      signs.rows.prepare(rotated, prepared);
      const std::vector<std::uint32_t> rows = {0, 1, 2, 3, 4, 5};
      std::vector<float> estimates(rows.size());
      for (const SignQueryView& view : {prepared.fine, prepared.coarse}) {
        signs.rows.score(view, rows, estimates.data());
        for (const float estimate : estimates) EXPECT_FALSE(std::isnan(estimate));
      }
    }
  }
}

TEST(SignRows, OtherDimensionsAreDamage) {
  Random random(kIvfSeed);
  Clumps clumps(dense_schema(64, Metric::kDot, DType::kF32), 5, random);
  const Signs signs(clumps.column(100));
  const auto reader = SectionReader::open(kFormat, *signs.directory, "signs");
  ASSERT_TRUE(reader);
  const auto opened = SignRows::open(*reader, Similarity::kDot, 96, 100);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace quiver::index::dense
