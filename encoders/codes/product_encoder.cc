// A pair's number is one nibble, and its 16 points are one table of a scan. Blocks and kernel are
// those of 1-bit codes, where four dimensions make a nibble.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "encoders/codes/bit_encoders.h"
#include "encoders/codes/code_block.h"
#include "encoders/codes/table_scorer.h"
#include "encoders/transforms/random_bits.h"

namespace quiver::encoders {
namespace {

constexpr std::size_t kPoints = 16;
constexpr std::size_t kPairsPerLine = 8;
/// A point is then the mean of about 500 rows; more rows did not change recall.
constexpr std::size_t kMaxSampleRows = 8192;
constexpr int kPairIterations = 12;

struct ValuePair {
  float x = 0;
  float y = 0;
};

/// The 16 points of a pair of dimensions.
struct PairCodebook {
  std::array<float, kPoints> x{};
  std::array<float, kPoints> y{};

  /// The last four bits of each distance are replaced by the point's number, so that one minimum
  /// finds both.
  [[nodiscard]] std::uint32_t nearest(ValuePair p) const {
    std::array<float, kPoints> keys;
    for (std::uint32_t i = 0; i < kPoints; ++i) {
      const float distance = (x[i] - p.x) * (x[i] - p.x) + (y[i] - p.y) * (y[i] - p.y);
      keys[i] = std::bit_cast<float>((std::bit_cast<std::uint32_t>(distance) & ~15u) | i);
    }
    for (std::size_t half = kPoints / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) keys[i] = std::min(keys[i], keys[i + half]);
    }
    return std::bit_cast<std::uint32_t>(keys[0]) & 15u;
  }
};

float squared_distance(ValuePair a, ValuePair b) {
  return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

/// k-means++ (Arthur and Vassilvitskii 2007): each next point is a random row, chosen with a
/// probability proportional to its squared distance from the points so far.
PairCodebook first_points(std::span<const ValuePair> rows, std::uint64_t seed) {
  std::vector<float> distances(rows.size(), std::numeric_limits<float>::max());
  PairCodebook points;
  std::size_t chosen = random_bits(seed, 0) % rows.size();
  for (std::size_t i = 0; i < kPoints; ++i) {
    points.x[i] = rows[chosen].x;
    points.y[i] = rows[chosen].y;
    double sum = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      distances[r] = std::min(distances[r], squared_distance(rows[r], rows[chosen]));
      sum += distances[r];
    }
    double rest = sum * random_unit(seed, i + 1);
    for (chosen = 0; chosen + 1 < rows.size() && rest >= distances[chosen]; ++chosen) {
      rest -= distances[chosen];
    }
  }
  return points;
}

/// Lloyd's iteration. A point without rows stays where it is.
void move_to_means(std::span<const ValuePair> rows, PairCodebook& points) {
  std::array<double, kPoints> x{}, y{};
  std::array<std::size_t, kPoints> counts{};
  for (ValuePair row : rows) {
    const std::uint32_t i = points.nearest(row);
    x[i] += row.x;
    y[i] += row.y;
    ++counts[i];
  }
  for (std::size_t i = 0; i < kPoints; ++i) {
    if (counts[i] == 0) continue;
    points.x[i] = static_cast<float>(x[i] / static_cast<double>(counts[i]));
    points.y[i] = static_cast<float>(y[i] / static_cast<double>(counts[i]));
  }
}

class ProductEncoder final : public Encoder {
 public:
  ProductEncoder(Similarity similarity, std::uint32_t dim, std::vector<PairCodebook> pairs)
      : Encoder(similarity, dim), pairs_(std::move(pairs)) {
    shape_.n_lines =
        static_cast<std::uint32_t>((pairs_.size() + kPairsPerLine - 1) / kPairsPerLine);
  }

  [[nodiscard]] std::size_t block_rows() const override { return CodeBlocks::kRows; }
  [[nodiscard]] std::size_t block_bytes() const override { return shape_.block_bytes(); }

  void encode(const float* rows, std::size_t n, std::byte* block) const override {
    clear_block(shape_, block);
    std::vector<std::uint8_t> bits(std::size_t{shape_.n_lines} * 32);
    for (std::size_t i = 0; i < n; ++i) {
      const float* row = rows + i * dim();
      const float scale = encode_row(row, bits);
      put_codes(shape_, bits, i, block);
      put_factors(shape_, factors_of(is_distance(), scale, row, dim()), i, block);
    }
  }

  [[nodiscard]] std::unique_ptr<Scorer> scorer(const float* query) const override;

 private:
  [[nodiscard]] ValuePair pair_of(const float* row, std::size_t pair) const {
    return {row[2 * pair], 2 * pair + 1 < dim() ? row[2 * pair + 1] : 0.0f};
  }

  /// Returns the factor |x|^2 / <x, points>, because points are means and shorter than the rows.
  /// For rows unlike the sample, which are far from their points, the factor is 1.
  float encode_row(const float* row, std::span<std::uint8_t> bits) const {
    double dot = 0;
    double squares = 0;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const ValuePair at = pair_of(row, p);
      const std::uint32_t number = pairs_[p].nearest(at);
      dot += double{at.x} * pairs_[p].x[number] + double{at.y} * pairs_[p].y[number];
      squares += double{at.x} * at.x + double{at.y} * at.y;
      for (std::uint32_t b = 0; b < 4; ++b) {
        bits[4 * p + b] = static_cast<std::uint8_t>(number >> b & 1);
      }
    }
    if (squares == 0) return 0.0f;
    const bool is_alike = dot > 0.25 * squares;
    return is_alike ? static_cast<float>(squares / dot) : 1.0f;
  }

  std::vector<PairCodebook> pairs_;
  CodeBlocks shape_;
};

/// Addends of a query: each point's product with it, less the least one of the pair.
struct Additions {
  std::vector<std::array<float, kPoints>> of_pairs;
  float least = 0;    ///< sum of the least products of all pairs
  float largest = 0;  ///< largest addend of any pair
};

Additions additions_of(std::span<const PairCodebook> pairs, std::span<const float> query) {
  Additions additions;
  additions.of_pairs.resize(pairs.size());
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    std::array<float, kPoints>& values = additions.of_pairs[p];
    for (std::size_t i = 0; i < kPoints; ++i) {
      values[i] = query[2 * p] * pairs[p].x[i] + query[2 * p + 1] * pairs[p].y[i];
    }
    const float least = *std::min_element(values.begin(), values.end());
    for (float& value : values) value -= least;
    additions.least += least;
    additions.largest =
        std::max(additions.largest, *std::max_element(values.begin(), values.end()));
  }
  return additions;
}

std::unique_ptr<Scorer> ProductEncoder::scorer(const float* query) const {
  std::vector<float> padded(pairs_.size() * 2);
  std::copy_n(query, dim(), padded.data());
  const Additions additions = additions_of(pairs_, padded);
  const float per_unit = per(additions.largest, 255.0f);
  TableMemory memory(shape_.n_lines);
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    // A line's tables: the low nibbles of its four bytes, then the high ones.
    const std::size_t place = p % kPairsPerLine / 2 + p % 2 * 4;
    std::uint8_t* table = memory.data() + (p / kPairsPerLine * kPairsPerLine + place) * kPoints;
    for (std::size_t i = 0; i < kPoints; ++i) {
      table[i] = static_cast<std::uint8_t>(std::nearbyint(additions.of_pairs[p][i] * per_unit));
    }
  }
  // The scan subtracts half of `absolute`, as is right for grid points around 0.
  CodeTables tables{memory.data(), additions.largest / 255.0f, -2 * additions.least};
  return std::make_unique<TableScorer>(shape_, std::move(memory), tables,
                                       base_of(is_distance(), query, dim()));
}

Result<> check(std::uint32_t dim, std::span<const float> sample) {
  if (dim == 0 || sample.size() % dim != 0 || sample.size() / dim < kPoints) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("product quantization: {} values of {} dimensions, wanted {} rows or more",
                    sample.size(), dim, kPoints));
  }
  if (!std::all_of(sample.begin(), sample.end(), [](float v) { return std::isfinite(v); })) {
    return fail(Code::kInvalidArgument,
                "product quantization: a value of the sample is not finite");
  }
  return {};
}

}  // namespace

Result<EncoderPtr> train_product_encoder(Similarity similarity, std::uint32_t dim,
                                         std::span<const float> sample, std::uint64_t seed) {
  QV_TRY(check(dim, sample));
  const std::size_t n_rows = sample.size() / dim;
  const std::size_t n = std::min(n_rows, kMaxSampleRows);
  std::vector<PairCodebook> pairs((dim + 1) / 2);
  std::vector<ValuePair> rows(n);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    for (std::size_t i = 0; i < n; ++i) {
      const float* row = sample.data() + i * n_rows / n * dim;
      rows[i] = {row[2 * p], 2 * p + 1 < dim ? row[2 * p + 1] : 0.0f};
    }
    pairs[p] = first_points(rows, random_bits(seed, p));
    for (int i = 0; i < kPairIterations; ++i) move_to_means(rows, pairs[p]);
  }
  return std::make_unique<const ProductEncoder>(similarity, dim, std::move(pairs));
}

}  // namespace quiver::encoders
