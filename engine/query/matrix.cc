#include "engine/query/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "engine/query/plan.h"
#include "engine/query/stages/field_query.h"
#include "index/exact/searcher.h"

namespace quiver::engine {
namespace {

/// An answer of this many entries takes about 256 MiB.
constexpr std::uint64_t kMaxEntries = 16'777'216;
constexpr std::size_t kPairsBetweenChecks = 64;

/// The points of `sample_query`, ascending by id.
Result<Candidates> draw_sample(const SearchEnvironment& environment, const MatrixRequest& request) {
  const Query query = sample_query(request);
  QV_TRY(auto ranking, Plan(query).rank(environment));
  std::sort(ranking.candidates.begin(), ranking.candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  return std::move(ranking.candidates);
}

Result<> check_size(const MatrixRequest& request, std::uint64_t n_points) {
  const std::uint64_t n_columns = std::min(request.limit, n_points - 1);
  if (n_columns == 0 || n_points <= kMaxEntries / n_columns) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("a matrix of {} points with {} neighbours each is too large: at most {} "
                          "distances are computed at a time",
                          n_points, n_columns, kMaxEntries));
}

/// The nearest others of `sample[row]`.
Result<std::vector<MatrixEntry>> nearest_others(const SearchEnvironment& environment,
                                                const MatrixRequest& request,
                                                const Candidates& sample, std::size_t row) {
  SearchParams params;
  params.counts = request.counts;
  QV_TRY(const auto query,
         field_query(environment, request.using_field, Nearest{sample[row].id}, params));
  std::vector<MatrixEntry> entries;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (i % kPairsBetweenChecks == 0) QV_TRY(environment.cancel.check());
    if (i == row) continue;
    const auto& column = sample[i].segment->data->fields[query.field];
    const auto score = index::score_row(query.prepared, column, sample[i].row);
    if (score) entries.push_back({i, *score});  // else no sparse index in common
  }
  const auto n = std::min<std::uint64_t>(request.limit, entries.size());
  std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(n),
                    entries.end(), [](const MatrixEntry& a, const MatrixEntry& b) {
                      return a.score != b.score ? a.score > b.score : a.column < b.column;
                    });
  entries.resize(n);
  const Metric metric = query.prepared.schema().metric;
  for (auto& entry : entries) entry.score = shown_score(metric, entry.score);
  entries.shrink_to_fit();
  return entries;
}

}  // namespace

Query sample_query(const MatrixRequest& request) {
  payload::Filter filter;
  filter.must = {payload::HasVector{request.using_field}};
  if (request.filter) {
    filter.must.emplace_back(std::make_shared<const payload::Filter>(*request.filter));
  }
  Query query;
  query.kind = Sample{};
  query.filter = std::move(filter);
  query.limit = request.sample;
  return query;
}

Result<DistanceMatrix> compare_sample(const SearchEnvironment& environment,
                                      const MatrixRequest& request) {
  QV_TRY(environment.config.field(request.using_field));
  QV_TRY(const auto sample, draw_sample(environment, request));
  DistanceMatrix matrix;
  if (sample.size() < 2) return matrix;
  QV_TRY(check_size(request, sample.size()));
  for (std::size_t row = 0; row < sample.size(); ++row) {
    QV_TRY(auto entries, nearest_others(environment, request, sample, row));
    matrix.ids.push_back(sample[row].id);
    matrix.rows.push_back(std::move(entries));
  }
  return matrix;
}

}  // namespace quiver::engine
