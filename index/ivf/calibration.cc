#include "index/ivf/calibration.h"

#include <algorithm>
#include <vector>

#include "index/flat/searcher.h"

namespace quiver::index::ivf {
namespace {

constexpr std::uint32_t kSample = 200;
constexpr std::size_t kNeighbours = 10;
/// Real queries lie farther from the rows than rows from each other, so that they find fewer.
constexpr double kShare = 0.99;
/// Where there is nothing to learn from.
constexpr float kDefault = 0.25F;

struct Sample {
  std::vector<std::uint32_t> rows;  ///< numbers of the source
  std::vector<Query> queries;
  std::vector<TopK> neighbours;
};

Sample sample_of(const RowSource& source) {
  Sample sample;
  const std::uint32_t n = std::min(kSample, source.n());
  std::vector<float> values(source.column().dense().dim);
  for (std::uint32_t j = 0; j < n; ++j) {
    const auto i = static_cast<std::uint32_t>(std::uint64_t{source.n()} * j / n);
    source.read_stored(i, values.data());
    sample.rows.push_back(i);
    sample.queries.push_back(Query::dense(source.column().schema, values));
    sample.neighbours.emplace_back(kNeighbours + 1);  // and the row itself
  }
  return sample;
}

Result<> find_neighbours(const RowSource& source, Sample& sample, const BuildContext& context) {
  const FieldColumn& column = source.column();
  Bitset present(column.n_rows);
  for (std::uint32_t i = 0; i < source.n(); ++i) present.set(source.row(i));
  std::vector<const Query*> queries;
  std::vector<TopK*> outs;
  for (auto& query : sample.queries) queries.push_back(&query);
  for (auto& out : sample.neighbours) outs.push_back(&out);
  WorkCounters work;
  const auto filter =
      column.all_present() ? FilterView::all(column.n_rows) : FilterView::of(present);
  return FlatSearcher(column).search_batch(queries, {}, filter, {context.cancel, nullptr}, outs,
                                           work);
}

/// Number in the source of each row of the column that has a vector.
std::vector<std::uint32_t> numbers_of(const RowSource& source) {
  std::vector<std::uint32_t> numbers(source.column().n_rows, 0);
  for (std::uint32_t i = 0; i < source.n(); ++i) numbers[source.row(i)] = i;
  return numbers;
}

}  // namespace

Result<float> usual_gap(const RowSource& source, const ListView& lists, const PartitionFacts& facts,
                        const BuildContext& context) {
  constexpr std::uint32_t kLeast = 1000;
  const std::uint32_t dim = source.dim();
  const std::size_t n_lists = lists.centroids.size() / dim;
  if (source.n() < kLeast || n_lists < 2) return kDefault;
  Sample sample = sample_of(source);
  QV_TRY(find_neighbours(source, sample, context));
  const auto numbers = numbers_of(source);
  const Similarity similarity = similarity_of(source.column().schema.metric);
  const auto& kernel = kernels().dense(similarity, RowType::kF32);
  std::vector<float> row(dim);
  std::vector<float> scores(n_lists);
  std::vector<float> gaps;
  for (std::size_t j = 0; j < sample.rows.size(); ++j) {
    source.read(sample.rows[j], row.data());
    stretch(similarity, facts.length, row);
    kernel.many(row.data(), dim, reinterpret_cast<const std::byte*>(lists.centroids.data()),
                dim * sizeof(float), n_lists, scores.data());
    for (std::size_t list = 0; list < n_lists; ++list) {
      scores[list] = list_key(similarity, scores[list], lists.reaches[list]);
    }
    const float best = *std::max_element(scores.begin(), scores.end());
    const float unit = gap_unit(similarity, best, facts);
    for (const Hit& hit : sample.neighbours[j].take_sorted()) {
      const std::uint32_t i = numbers[hit.row];
      if (i == sample.rows[j]) continue;
      float score = scores[lists.list_of[i]];
      if (!lists.also_in.empty()) score = std::max(score, scores[lists.also_in[i]]);
      gaps.push_back(unit > 0 ? (best - score) / unit : 0);
    }
  }
  if (gaps.empty()) return kDefault;
  const auto at = static_cast<std::size_t>(kShare * static_cast<double>(gaps.size() - 1));
  std::nth_element(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(at), gaps.end());
  return std::clamp(gaps[at], 0.01F, 10.0F);
}

}  // namespace quiver::index::ivf
