#include "index/dense/lists/sign_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "index/dense/lists/code_writers.h"
#include "index/dense/lists/sections.h"
#include "index/parallel.h"

namespace quiver::index::dense {
namespace {

constexpr std::size_t kPlanes = 4;
constexpr float kLargestInPlanes = 15;
constexpr std::size_t kLineBytes = 64;
constexpr std::uint32_t kRowsPerTask = 256;

std::vector<float> mean_of(const RowSource& source) {
  constexpr std::uint32_t kMaxRows = 20'000;
  const std::uint32_t n = std::min(source.n(), kMaxRows);
  std::vector<double> sums(source.dim());
  std::vector<float> row(source.dim());
  for (std::uint32_t i = 0; i < n; ++i) {
    source.read(static_cast<std::uint32_t>(std::uint64_t{source.n()} * i / n), row.data());
    for (std::size_t d = 0; d < row.size(); ++d) sums[d] += row[d];
  }
  for (std::size_t d = 0; d < row.size(); ++d) {
    const double mean = sums[d] / std::max(1U, n);
    row[d] = std::isfinite(static_cast<float>(mean)) ? static_cast<float>(mean) : 0;
  }
  return row;
}

/// Sums over rows.
struct Squares {
  double deviation = 0;
  double scale = 0;

  Squares& operator+=(const Squares& other) {
    deviation += other.deviation;
    scale += other.scale;
    return *this;
  }
};

class RowWriter {
 public:
  RowWriter(Similarity similarity, std::span<const float> centre)
      : coder_(similarity), centre_(centre), codes_(centre.size()) {}

  /// Returns the squares of the row's deviation and scale.
  Squares write(std::span<const float> x, std::byte* out) {
    const auto coded = coder_.code(x, centre_, 1, codes_.data());
    SignFactors factors{coded.scale, coded.add, 0, 0};
    for (std::size_t d = 0; d < codes_.size(); ++d) {
      out[d / 8] |= static_cast<std::byte>(codes_[d] << (d % 8));
      factors.n_ones += static_cast<float>(codes_[d]);
    }
    std::memcpy(out + codes_.size() / 8, &factors, sizeof factors);
    if (!std::isfinite(coded.deviation)) return {};
    return {double{coded.deviation} * coded.deviation, double{coded.scale} * coded.scale};
  }

 private:
  ResidualCoder coder_;
  std::span<const float> centre_;
  std::vector<std::uint8_t> codes_;
};

struct Range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Codes rows `part` of the source into `out`, whose first row is `first_row` of the column.
Squares write_rows(const RowSource& source, Similarity similarity, std::span<const float> centre,
                   Range part, std::uint32_t first_row, std::span<std::byte> out) {
  RowWriter writer(similarity, centre);
  std::vector<float> row(source.dim());
  const std::size_t stride = SignRows::stride(source.dim());
  Squares sum;
  for (std::uint32_t i = part.begin; i < part.end; ++i) {
    source.read(i, row.data());
    sum += writer.write(row, out.data() + (source.row(i) - first_row) * stride);
  }
  return sum;
}

/// Writes which values are above their mean to `plane`, and the two levels that stand for them to
/// `view`. Returns the usual error of a product with the bits of a row.
///
/// The levels are farther apart than the values are on average, so that their product with the
/// values is that of the values with themselves (as the factors of RaBitQ's codes; Gao and Long,
/// SIGMOD 2024, section 3.2). Else near rows would be underestimated: their bits agree with the
/// query's larger values. Very near rows are overestimated.
double set_signs(std::span<const float> values, double sum, std::uint8_t* plane,
                 SignQueryView& view) {
  const auto n = static_cast<double>(values.size());
  const auto mean = static_cast<float>(sum / n);
  double gaps = 0, squares = 0, n_above = 0;
  for (std::size_t d = 0; d < values.size(); ++d) {
    const bool is_above = values[d] > mean;
    const double gap = std::abs(double{values[d]} - mean);
    plane[d / 8] |= static_cast<std::uint8_t>((is_above ? 1U : 0U) << (d % 8));
    n_above += is_above ? 1 : 0;
    gaps += gap;
    squares += gap * gap;
  }
  const double gap = gaps > 0 ? squares / gaps : 0;
  view.planes = plane;
  view.n_planes = 1;
  view.least = static_cast<float>(mean - gap);
  view.step = static_cast<float>(2 * gap);
  view.half_sum = static_cast<float>((n * (mean - gap) + n_above * 2 * gap) / 2);
  return std::sqrt(std::max(0.0, n * gap * gap - squares)) / 2;
}

}  // namespace

std::size_t SignRows::stride(std::uint32_t dim) {
  const std::size_t bytes = dim / 8 + sizeof(SignFactors);
  const std::size_t unit = bytes <= kLineBytes / 2 ? kLineBytes / 2 : kLineBytes;
  return (bytes + unit - 1) / unit * unit;
}

Result<> SignRows::write(const RowSource& source, Similarity similarity, std::uint32_t n_rows,
                         const BuildContext& context, SectionWriter& writer) {
  constexpr std::uint32_t kRowsPerWrite = 16'384;
  const auto centre = mean_of(source);
  const std::size_t stride = SignRows::stride(source.dim());
  std::vector<std::byte> bytes;
  Squares squares;
  writer.begin(kSigns);
  const auto write_block = [&](const RowBlock& block) {
    bytes.assign((block.end - block.first) * stride, std::byte{0});
    std::vector<Squares> sums((block.next - block.begin + kRowsPerTask - 1) / kRowsPerTask);
    for_each(context, sums.size(), [&](std::size_t task) {
      const auto from = block.begin + static_cast<std::uint32_t>(task) * kRowsPerTask;
      const Range part{from, std::min(block.next, from + kRowsPerTask)};
      sums[task] = write_rows(source, similarity, centre, part, block.first, bytes);
    });
    for (const Squares& sum : sums) squares += sum;
    writer.add(bytes);
  };
  QV_TRY(for_each_block(source, n_rows, kRowsPerWrite, context, write_block));
  writer.end();
  const double n = std::max(1U, source.n());
  const SignFacts facts{source.dim(), static_cast<float>(std::sqrt(squares.deviation / n)),
                        static_cast<float>(std::sqrt(squares.scale / n))};
  writer.section(kSignFacts, std::span<const SignFacts>(&facts, 1));
  writer.section(kSignCentre, std::span<const float>(centre));
  return {};
}

Result<SignRows> SignRows::open(const SectionReader& reader, Similarity similarity,
                                std::uint32_t dim, std::uint32_t n_rows) {
  SignRows rows;
  rows.similarity_ = similarity;
  QV_TRY(const auto facts, reader.get<SignFacts>(kSignFacts, 0, 1));
  rows.facts_ = facts.span()[0];
  if (rows.facts_.padded_dim != dim) {
    return fail(Code::kDataLoss, "sign codes have other dimensions than their index");
  }
  QV_TRY(rows.centre_, reader.get<float>(kSignCentre, 0, dim));
  QV_TRY(rows.rows_, reader.get<std::byte>(kSigns, 0, n_rows * stride(dim)));
  return rows;
}

void SignRows::prepare(std::span<const float> rotated, SignQuery& query) const {
  const std::size_t stride = row_bytes();
  query.planes.assign((kPlanes + 1) * stride, 0);  // zero where rows have their factors
  const auto [least, most] = std::minmax_element(rotated.begin(), rotated.end());
  auto& view = query.fine;
  view.planes = query.planes.data();
  view.least = *least;
  view.step = (*most - *least) / kLargestInPlanes;
  const float per_unit = view.step > 0 ? 1 / view.step : 0;
  double sum = 0, to_centre = 0, centre_score = 0;
  for (std::size_t d = 0; d < rotated.size(); ++d) {
    const float value = rotated[d];
    const auto level = static_cast<unsigned>(
        std::clamp((value - *least) * per_unit + 0.5F, 0.0F, kLargestInPlanes));
    for (std::size_t p = 0; p < kPlanes; ++p) {
      const unsigned bit = level >> p & 1U;
      query.planes[p * stride + d / 8] |= static_cast<std::uint8_t>(bit << (d % 8));
    }
    sum += value;
    const double gap = double{value} - centre_.span()[d];
    to_centre += gap * gap;
    centre_score += double{value} * centre_.span()[d];
  }
  const bool is_distance = similarity_ == Similarity::kNegL2Squared;
  view.half_sum = static_cast<float>(sum / 2);
  view.base = static_cast<float>(is_distance ? -to_centre : centre_score);
  // Of the codes, and of the query's rounding: each value is off by up to half a step.
  const double of_codes = (is_distance ? 2 : 1) * facts_.deviation * std::sqrt(to_centre);
  const double of_query = facts_.scale * view.step * std::sqrt(facts_.padded_dim / 48.0);
  query.deviation = static_cast<float>(std::hypot(of_codes, of_query));
  query.coarse = view;
  const double of_coarse =
      facts_.scale * set_signs(rotated, sum, query.planes.data() + kPlanes * stride, query.coarse);
  query.coarse_deviation = static_cast<float>(std::hypot(of_codes, of_coarse));
}

void SignRows::score(const SignQueryView& view, std::span<const std::uint32_t> rows,
                     float* out) const {
  const SignCodes codes{rows_.data(), row_bytes(), facts_.padded_dim / 8};
  kernels().binary.estimate(view, codes, rows.data(), rows.size(), out);
}

}  // namespace quiver::index::dense
