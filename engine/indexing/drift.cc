#include "engine/indexing/drift.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/indexing/index_params.h"
#include "engine/indexing/indexes.h"
#include "engine/indexing/query_samples.h"
#include "engine/segment/segment.h"

namespace quiver::engine {
namespace {

constexpr std::size_t kMeasuredHits = 10;
constexpr std::uint64_t kThoroughEffort = 512;  ///< four times the default
/// Recall below which an index is rebuilt. Defaults find more than .95; the mean over 64 queries is
/// within .03 of that over all queries.
constexpr double kMinRecall = 0.93;
/// Recall that a rebuilt index below kMinRecall may lose before it is rebuilt again.
constexpr double kMinRecallLoss = 0.05;

/// The query as it was asked.
index::PreparedQuery query_of(const FieldSchema& schema, std::span<const float> tokens) {
  return index::PreparedQuery::multi(schema, tokens, recorded_weights(schema, tokens));
}

/// Searches of one field of one segment, with default and with thorough effort.
class FieldSearches {
 public:
  static Result<FieldSearches> make(const Segment& segment, std::size_t field,
                                    const Cancel& cancel) {
    const auto& data = *segment.data;
    const auto& schema = data.fields[field].schema;
    SearchParams thorough;
    thorough.hnsw_ef = kThoroughEffort;
    QV_TRY(auto usual, index_params(*data.indexes[field].type, schema, {}));
    QV_TRY(auto more, index_params(*data.indexes[field].type, schema, thorough));
    return FieldSearches(segment, field, cancel, std::move(usual), std::move(more));
  }

  /// Share of the hits of a thorough search that a default search finds.
  [[nodiscard]] Result<double> recall(std::span<const float> tokens) const {
    const auto query = query_of(data_.fields[field_].schema, tokens);
    QV_TRY(const auto wanted, hits(query, thorough_));
    if (wanted.empty()) return 1;
    QV_TRY(const auto found, hits(query, usual_));
    const float least = wanted.back().score;
    const auto n_right = std::count_if(found.begin(), found.end(),
                                       [&](const auto& hit) { return hit.score >= least; });
    return static_cast<double>(n_right) / static_cast<double>(wanted.size());
  }

 private:
  FieldSearches(const Segment& segment, std::size_t field, const Cancel& cancel,
                index::AnyParams usual, index::AnyParams thorough)
      : data_(*segment.data),
        field_(field),
        cancel_(cancel),
        usual_(std::move(usual)),
        thorough_(std::move(thorough)),
        rows_(live_with_vector(segment, field)) {}

  [[nodiscard]] Result<std::vector<index::Hit>> hits(const index::PreparedQuery& query,
                                                     const index::AnyParams& params) const {
    const auto rows = rows_ ? index::RowFilter::of(*rows_) : index::RowFilter::all(data_.n_rows);
    index::TopK best(kMeasuredHits);
    index::WorkCounters work;
    QV_TRY(data_.searchers[field_]->search(query, params, rows, {cancel_}, best, work));
    return best.take_sorted();
  }

  const SegmentData& data_;
  const std::size_t field_;
  const Cancel& cancel_;
  const index::AnyParams usual_;
  const index::AnyParams thorough_;
  const std::optional<Bitset> rows_;  ///< nullopt: all rows
};

}  // namespace

Result<std::optional<MeasuredFit>> measure_fit(const Segment& segment, std::size_t field,
                                               const index::QuerySample& sample,
                                               const Cancel& cancel) {
  const auto& data = *segment.data;
  if (!data.sealed || data.indexes[field].type == flat_index()) return std::nullopt;
  const auto& queries = sample.queries;
  if (queries.size() < kDriftQueries) return std::nullopt;
  QV_TRY(const auto searches, FieldSearches::make(segment, field, cancel));
  double sum = 0;
  for (std::size_t i = 0; i < kDriftQueries; ++i) {
    QV_TRY(const double recall, searches.recall(queries[i * queries.size() / kDriftQueries]));
    sum += recall;
  }
  return MeasuredFit{data.id, field, data.searchers[field],
                     sum / static_cast<double>(kDriftQueries)};
}

bool FieldFits::note_measured(std::size_t field, double recall) {
  Fit& fit = fields_[field];
  const bool is_first = !fit.recall;
  if (is_first || recall > *fit.recall) fit.recall = recall;
  if (fit.has_drifted || recall >= kMinRecall) return false;
  const bool finds_no_more = fit.is_rebuilt && (is_first || recall >= *fit.recall - kMinRecallLoss);
  fit.has_drifted = !finds_no_more;
  return fit.has_drifted;
}

void FieldFits::note_rebuilt(std::size_t field) {
  fields_[field] = {.has_drifted = false, .is_rebuilt = true, .recall = std::nullopt};
}

std::optional<std::size_t> FieldFits::next_drifted() const {
  for (const auto& [field, fit] : fields_) {
    if (fit.has_drifted) return field;
  }
  return std::nullopt;
}

}  // namespace quiver::engine
