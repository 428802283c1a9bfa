#include "engine/query/shared_pass.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/threads/parallel.h"
#include "engine/model/planned_query.h"
#include "engine/query/plan.h"
#include "engine/query/stages/nearest.h"
#include "engine/query/stages/threshold.h"
#include "gpu/devices.h"

namespace quiver::engine {
namespace {

using Answers = std::vector<std::vector<Record>>;

/// The numbers of the queries that `are_searched_alike`, in groups. `most_filtered`: of a group in
/// which a query has a filter.
std::vector<std::vector<std::size_t>> groups_of(std::span<const Query> queries, Searched where,
                                                std::size_t most_filtered) {
  std::vector<std::vector<std::size_t>> groups;
  std::vector<bool> is_grouped(queries.size(), false);
  for (std::size_t first = 0; first < queries.size(); ++first) {
    if (is_grouped[first]) continue;
    auto& group = groups.emplace_back(1, first);
    bool has_filter = queries[first].filter.has_value();
    for (std::size_t i = first + 1; i < queries.size(); ++i) {
      const bool would_have_filter = has_filter || queries[i].filter;
      if (would_have_filter && group.size() >= most_filtered) continue;
      if (is_grouped[i] || !are_searched_alike(queries[first], queries[i], where)) continue;
      group.push_back(i);
      is_grouped[i] = true;
      has_filter = would_have_filter;
    }
  }
  return groups;
}

Result<> run_group(const SearchEnvironment& environment, std::span<const Query> queries,
                   std::span<const std::size_t> group, Answers& answers) {
  std::vector<const Query*> nearest;
  std::vector<std::uint64_t> limits;
  for (const std::size_t i : group) {
    nearest.push_back(&queries[i]);
    limits.push_back(n_ranked(queries[i]));
  }
  QV_TRY(auto rankings, search_nearest(environment, nearest, limits));
  std::vector<Result<std::vector<Record>>> records(group.size());
  parallel_if_many(environment.executor, group.size(), [&](std::size_t i) {
    apply_threshold(*nearest[i], rankings[i]);
    records[i] = records_of(environment, *nearest[i], rankings[i]);
  });
  for (std::size_t i = 0; i < group.size(); ++i) {
    QV_TRY(answers[group[i]], std::move(records[i]));
  }
  return {};
}

}  // namespace

bool are_searched_alike(const Query& a, const Query& b, Searched where) {
  // The number of hits and the filter say which effort reaches a recall.
  const bool has_target = !a.params.target.is_none();
  const bool has_filter = a.filter || b.filter;
  if (has_target && n_ranked(a) != n_ranked(b)) return false;
  if (has_filter && (has_target || where == Searched::kOnCpu)) return false;
  return is_plain_nearest(a) && is_plain_nearest(b) && a.using_field == b.using_field &&
         a.params == b.params;
}

std::size_t most_filtered_together(const Snapshot& snapshot) {
  constexpr std::uint64_t kMaxBits = 8 * (128ULL << 20);
  std::uint64_t n_rows = 1;
  for (const Segment* segment : snapshot.segments()) n_rows += segment->n_rows();
  return std::clamp<std::uint64_t>(kMaxBits / n_rows, 1, QueryCost::kMostOnDevice);
}

Result<Answers> run_queries(const SearchEnvironment& environment, std::span<const Query> queries) {
  Answers answers(queries.size());
  const bool has_devices = environment.devices != nullptr && environment.devices->is_useful();
  const Searched where = has_devices ? Searched::kOnDevice : Searched::kOnCpu;
  for (const auto& group :
       groups_of(queries, where, most_filtered_together(environment.snapshot))) {
    const std::size_t first = group.front();
    if (group.size() == 1) {
      QV_TRY(answers[first], Plan(queries[first]).run(environment));
    } else {
      QV_TRY(run_group(environment, queries, group, answers));
    }
  }
  return answers;
}

}  // namespace quiver::engine
