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
/// Share of the lists within the gap whose regions are compared. More make a search slower than
/// the lists that are missed.
constexpr double kShareInRegions = 0.9;
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

/// A row as a query that lists are compared with.
std::vector<float> query_of(const RowSource& source, std::uint32_t row,
                            const PartitionFacts& facts) {
  std::vector<float> values(source.dim());
  source.read_as_query(row, values.data());
  stretch(similarity_of(source.column().schema.metric), facts.length, values);
  return values;
}

/// Writes to `gaps` how far the key of each centroid is below the best one, in `gap_unit`s. Returns
/// the best key.
float measure_gaps(Similarity similarity, std::span<const float> query,
                   std::span<const float> centroids, std::span<const float> reaches,
                   const PartitionFacts& facts, std::span<float> gaps) {
  const std::size_t dim = query.size();
  kernels()
      .dense(similarity, RowType::kF32)
      .many(query.data(), dim, reinterpret_cast<const std::byte*>(centroids.data()),
            dim * sizeof(float), gaps.size(), gaps.data());
  for (std::size_t i = 0; i < gaps.size(); ++i) gaps[i] = list_key(similarity, gaps[i], reaches[i]);
  const float best = *std::max_element(gaps.begin(), gaps.end());
  const float unit = gap_unit(similarity, best, facts);
  for (float& gap : gaps) gap = unit > 0 ? (best - gap) / unit : 0;
  return best;
}

/// How far the score of row `other` is above the key `best`, in `gap_unit`s.
float rise_of(const RowSource& source, std::span<const float> query, std::uint32_t other,
              float best, const PartitionFacts& facts) {
  const Similarity similarity = similarity_of(source.column().schema.metric);
  std::vector<float> values(source.dim());
  source.read(other, values.data());
  const float score =
      kernels()
          .dense(similarity, RowType::kF32)
          .one(query.data(), query.size(), reinterpret_cast<const std::byte*>(values.data()));
  const float unit = gap_unit(similarity, best, facts);
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

/// `UsualSearch::region_gap`. `list_gaps`: `[n, n_lists]`.
float region_gap_of(const RowSource& source, const CalibrationSample& sample, const ListView& lists,
                    const PartitionFacts& facts, std::span<const float> list_gaps, float gap) {
  const Regions& regions = lists.regions;
  const Similarity similarity = similarity_of(source.column().schema.metric);
  std::vector<float> gaps(regions.n());
  std::vector<float> differences;
  for (const std::uint32_t row : sample.rows) {
    measure_gaps(similarity, query_of(source, row, facts), regions.centroids, regions.reaches,
                 facts, gaps);
    for (std::size_t i = 0; i < regions.n(); ++i) {
      for (std::uint32_t list = regions.first_list[i]; list < regions.first_list[i + 1]; ++list) {
        const float difference = gaps[i] - list_gaps[list];
        if (list_gaps[list] <= gap && std::isfinite(difference)) differences.push_back(difference);
      }
    }
    list_gaps = list_gaps.subspan(lists.reaches.size());
  }
  return differences.empty() ? 0 : std::max(0.0F, quantile(differences, kShareInRegions));
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
  const Similarity similarity = similarity_of(source.column().schema.metric);
  const auto numbers = source.numbers();
  std::vector<float> found;
  std::vector<float> depths;
  std::vector<float> all(sample.rows.size() * n_lists);
  for (std::size_t j = 0; j < sample.rows.size(); ++j) {
    const auto gaps = std::span(all).subspan(j * n_lists, n_lists);
    const auto hits = sample.neighbours[j].take_sorted();
    const std::uint32_t last = hits.empty() ? sample.rows[j] : numbers[hits.back().row];
    const auto query = query_of(source, sample.rows[j], facts);
    const float best = measure_gaps(similarity, query, lists.centroids, lists.reaches, facts, gaps);
    const float rise = rise_of(source, query, last, best, facts);
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
  if (lists.regions.n() != 0) {
    usual.region_gap = region_gap_of(source, sample, lists, facts, all, gap);
  }
  if (!depths.empty()) usual.depths = {quantile(depths, 0.5), quantile(depths, kCoveredShare)};
  return usual;
}

}  // namespace quiver::index::dense
