#include "index/dense/lists/calibration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "index/exact/searcher.h"

namespace quiver::index::dense {
namespace {

constexpr std::uint32_t kSampledRows = 200;
constexpr std::size_t kNearestPerRow = 10;
/// Depths are measured from the score of the neighbour of this rank.
constexpr std::size_t kNearestForDepth = 100;
/// Share of neighbours within the gap. Real queries lie farther from the rows than rows do, so they
/// find less.
constexpr double kCoveredShare = 0.99;
/// Gap without calibration.
constexpr float kDefaultGap = 0.25F;

struct CalibrationSample {
  std::vector<std::uint32_t> rows;  ///< row numbers of the source
  std::vector<PreparedQuery> queries;
  std::vector<TopK> neighbours;
};

CalibrationSample sample_of(const RowSource& source) {
  CalibrationSample sample;
  const std::uint32_t n = std::min(kSampledRows, source.n());
  std::vector<float> values(source.column().dense().dim);
  for (std::uint32_t j = 0; j < n; ++j) {
    const auto i = static_cast<std::uint32_t>(std::uint64_t{source.n()} * j / n);
    source.read_stored(i, values.data());
    sample.rows.push_back(i);
    sample.queries.push_back(PreparedQuery::dense(source.column().schema, values));
    sample.neighbours.emplace_back(kNearestForDepth + 1);  // plus the row itself
  }
  return sample;
}

Result<> find_neighbours(const RowSource& source, CalibrationSample& sample,
                         const BuildContext& context) {
  const FieldColumn& column = source.column();
  Bitset present(column.n_rows);
  for (std::uint32_t i = 0; i < source.n(); ++i) present.set(source.row(i));
  std::vector<const PreparedQuery*> queries;
  std::vector<TopK*> results;
  for (auto& query : sample.queries) queries.push_back(&query);
  for (auto& out : sample.neighbours) results.push_back(&out);
  WorkCounters work;
  const auto filter = column.all_present() ? RowFilter::all(column.n_rows) : RowFilter::of(present);
  return FlatSearcher(column).search_batch(queries, {}, filter, {context.cancel, nullptr}, results,
                                           work);
}

/// Writes to `gaps` how far each list's key is below the best one, in `gap_unit`s, for row `row` as
/// the query. Returns how far the score of row `other` is above the best key.
float measure_gaps(const RowSource& source, std::uint32_t row, std::uint32_t other,
                   const ListView& lists, const PartitionFacts& facts, std::span<float> gaps) {
  const std::uint32_t dim = source.dim();
  const Similarity similarity = similarity_of(source.column().schema.metric);
  const auto& kernel = kernels().dense(similarity, RowType::kF32);
  std::vector<float> values(dim);
  std::vector<float> other_values(dim);
  source.read_as_query(row, values.data());
  source.read(other, other_values.data());
  stretch(similarity, facts.length, values);
  const float score =
      kernel.one(values.data(), dim, reinterpret_cast<const std::byte*>(other_values.data()));
  kernel.many(values.data(), dim, reinterpret_cast<const std::byte*>(lists.centroids.data()),
              dim * sizeof(float), gaps.size(), gaps.data());
  for (std::size_t list = 0; list < gaps.size(); ++list) {
    gaps[list] = list_key(similarity, gaps[list], lists.reaches[list]);
  }
  const float best = *std::max_element(gaps.begin(), gaps.end());
  const float unit = gap_unit(similarity, best, facts);
  for (float& gap : gaps) gap = unit > 0 ? (best - gap) / unit : 0;
  return unit > 0 ? (score - best) / unit : 0;
}

/// The `share` quantile of `numbers`, which are not empty.
float quantile(std::vector<float>& numbers, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(numbers.size() - 1));
  std::nth_element(numbers.begin(), numbers.begin() + at, numbers.end());
  return numbers[static_cast<std::size_t>(at)];
}

std::vector<std::uint32_t> sizes_of(const ListView& lists, std::size_t n_lists) {
  std::vector<std::uint32_t> sizes(n_lists, 0);
  for (const std::uint32_t list : lists.list_of) ++sizes[list];
  for (const std::uint32_t list : lists.also_in) ++sizes[list];
  return sizes;
}

/// Mean number of codes in lists within `gap`. `gaps`: `[n, n_lists]`.
std::uint32_t codes_within(float gap, std::span<const float> gaps,
                           std::span<const std::uint32_t> sizes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) sum += gaps[i] <= gap ? sizes[i % sizes.size()] : 0;
  return static_cast<std::uint32_t>(sum / std::max<std::size_t>(1, gaps.size() / sizes.size()));
}

}  // namespace

Result<UsualSearch> usual_search(const RowSource& source, const ListView& lists,
                                 const PartitionFacts& facts, const BuildContext& context) {
  constexpr std::uint32_t kMinRowsToCalibrate = 1000;
  const std::uint32_t dim = source.dim();
  const std::size_t n_lists = lists.centroids.size() / dim;
  if (source.n() < kMinRowsToCalibrate || n_lists < 2)
    return UsualSearch{kDefaultGap, 0, std::nullopt};
  CalibrationSample sample = sample_of(source);
  QV_TRY(find_neighbours(source, sample, context));
  const auto numbers = source.numbers();
  std::vector<float> found;
  std::vector<float> depths;
  std::vector<float> all(sample.rows.size() * n_lists);
  for (std::size_t j = 0; j < sample.rows.size(); ++j) {
    const auto gaps = std::span(all).subspan(j * n_lists, n_lists);
    const auto hits = sample.neighbours[j].take_sorted();
    const std::uint32_t last = hits.empty() ? sample.rows[j] : numbers[hits.back().row];
    const float rise = measure_gaps(source, sample.rows[j], last, lists, facts, gaps);
    const std::size_t n_near = std::min(hits.size(), kNearestPerRow + 1);
    for (const Hit& hit : std::span(hits).first(n_near)) {
      const std::uint32_t i = numbers[hit.row];
      if (i == sample.rows[j]) continue;
      float gap = gaps[lists.list_of[i]];
      if (!lists.also_in.empty()) gap = std::min(gap, gaps[lists.also_in[i]]);
      found.push_back(gap);
      if (std::isfinite(gap + rise)) depths.push_back(gap + rise);
    }
  }
  if (found.empty()) return UsualSearch{kDefaultGap, 0, std::nullopt};
  const float gap = std::clamp(quantile(found, kCoveredShare), 0.01F, 10.0F);
  UsualSearch usual{gap, codes_within(gap, all, sizes_of(lists, n_lists)), std::nullopt};
  if (!depths.empty()) usual.depths = {quantile(depths, 0.5), quantile(depths, kCoveredShare)};
  return usual;
}

}  // namespace quiver::index::dense
