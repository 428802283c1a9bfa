#include "engine/drift.h"

#include <algorithm>
#include <cstdint>

#include "engine/field_query.h"
#include "engine/index_params.h"
#include "engine/indexes.h"

namespace quiver::engine {
namespace {

constexpr std::size_t kDepth = 10;
constexpr double kLeastRecall = 0.93;
constexpr std::uint64_t kThoroughEffort = 1024;  ///< 128 is the usual one

/// Searches of one field of one segment, with less effort and more.
class FieldSearches {
 public:
  FieldSearches(const Segment& segment, std::size_t field, const Cancel& cancel)
      : data_(*segment.data),
        field_(field),
        rows_(with_vector(segment, field, segment.live())),
        cancel_(cancel) {}

  Result<> prepare() {
    SearchParams thorough;
    thorough.hnsw_ef = kThoroughEffort;
    const auto& type = *data_.indexes[field_].type;
    QV_TRY(usual_, index_params(type, schema(), {}));
    QV_TRY(thorough_, index_params(type, schema(), thorough));
    return {};
  }

  /// Of the best hits of a thorough search, the share that a usual one has.
  Result<double> recall(std::span<const float> tokens) const {
    const auto query = index::Query::multi(schema(), tokens);
    QV_TRY(const auto wanted, hits(query, thorough_));
    if (wanted.empty()) return 1;
    QV_TRY(const auto found, hits(query, usual_));
    const float least = wanted.back().score;
    const auto n_right = std::count_if(found.begin(), found.end(),
                                       [&](const auto& hit) { return hit.score >= least; });
    return static_cast<double>(n_right) / static_cast<double>(wanted.size());
  }

 private:
  [[nodiscard]] const FieldSchema& schema() const { return data_.fields[field_].schema; }

  [[nodiscard]] Result<std::vector<index::Hit>> hits(const index::Query& query,
                                                     const index::AnyParams& params) const {
    index::TopK best(kDepth);
    index::WorkCounters work;
    const auto rows = index::FilterView::of(rows_);
    QV_TRY(data_.searchers[field_]->search(query, params, rows, {cancel_}, best, work));
    return best.take_sorted();
  }

  const SegmentData& data_;
  const std::size_t field_;
  const Bitset rows_;
  const Cancel& cancel_;
  index::AnyParams usual_;
  index::AnyParams thorough_;
};

Result<bool> has_drifted(const Segment& segment, std::size_t field, const QuerySamples& queries,
                         const Cancel& cancel) {
  if (segment.data->indexes[field].type == flat_index()) return false;
  const auto sample = queries.sample(field).queries;
  if (sample.size() < kQueriesBeforeDrift) return false;
  FieldSearches searches(segment, field, cancel);
  QV_TRY(searches.prepare());
  double sum = 0;
  for (std::size_t i = 0; i < kQueriesBeforeDrift; ++i) {
    QV_TRY(const double recall, searches.recall(sample[i * sample.size() / kQueriesBeforeDrift]));
    sum += recall;
  }
  return sum < kLeastRecall * static_cast<double>(kQueriesBeforeDrift);
}

}  // namespace

Result<std::vector<std::size_t>> drifted_fields(const Segment& segment, const QuerySamples& queries,
                                                const Cancel& cancel) {
  std::vector<std::size_t> drifted;
  const auto& data = *segment.data;
  for (std::size_t field = 0; data.sealed && field < data.fields.size(); ++field) {
    QV_TRY(const bool is_one, has_drifted(segment, field, queries, cancel));
    if (is_one) drifted.push_back(field);
  }
  return drifted;
}

}  // namespace quiver::engine
