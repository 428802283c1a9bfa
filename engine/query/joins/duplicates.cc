#include "engine/query/joins/duplicates.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/query/joins/row_groups.h"
#include "engine/query/joins/scores.h"

namespace quiver::engine {
namespace {

/// Hits of the first search from a row, and how much more the next one asks for.
constexpr std::uint64_t kFirstHits = 10;
constexpr std::uint64_t kHitsGrowth = 8;

class PairSearch {
 public:
  PairSearch(const NeighbourSearch& search, float min_score)
      : search_(search), min_score_(min_score), found_(search.rows().size()) {}

  Result<> run(JoinProgress& progress);
  [[nodiscard]] std::vector<Neighbours> take() { return std::move(found_); }

 private:
  Result<> search_batch(std::span<const std::uint32_t> batch);
  Result<> keep(std::uint32_t row, Neighbours hits);
  Result<> turn_round();

  const NeighbourSearch& search_;
  const float min_score_;
  std::vector<Neighbours> found_;  ///< for each row; different threads fill different ones
  std::atomic<std::uint64_t> n_pairs_ = 0;
};

Result<> PairSearch::run(JoinProgress& progress) {
  const auto order = search_.rows().similar_first();
  progress.n_total += order.size();
  QV_TRY(for_each_batch(search_.environment(), order, progress,
                        [&](std::span<const std::uint32_t> batch) { return search_batch(batch); }));
  return turn_round();
}

Result<> PairSearch::search_batch(std::span<const std::uint32_t> batch) {
  const Metric metric = search_.rows().schema().metric;
  std::vector<std::uint32_t> open(batch.begin(), batch.end());
  const std::uint64_t n_others = search_.rows().size() - 1;
  for (std::uint64_t k = std::min(kFirstHits, n_others); !open.empty(); k *= kHitsGrowth) {
    k = std::min(k, n_others);
    QV_TRY(auto found, search_.find(open, k));
    std::vector<std::uint32_t> still_open;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::size_t n_hits = found[i].size();
      std::erase_if(found[i], [&](const Neighbour& hit) {
        return !is_at_least(metric, hit.score, min_score_);
      });
      const bool may_have_more = n_hits == k && found[i].size() == n_hits && k < n_others;
      if (may_have_more) {
        still_open.push_back(open[i]);
      } else {
        QV_TRY(keep(open[i], std::move(found[i])));
      }
    }
    open = std::move(still_open);
  }
  return {};
}

Result<> PairSearch::keep(std::uint32_t row, Neighbours hits) {
  const std::uint64_t n = n_pairs_ += hits.size();
  if (n > kMaxJoinEntries) {
    return fail(Code::kResourceExhausted,
                fmt::format("more than {} pairs of points reach the score {}: ask for a higher one",
                            kMaxJoinEntries, min_score_));
  }
  hits.shrink_to_fit();
  found_[row] = std::move(hits);
  return {};
}

/// Each pair that was found from one side only counts for the other one, too.
Result<> PairSearch::turn_round() {
  std::vector<std::pair<std::uint32_t, Neighbour>> missing;
  const auto n = static_cast<std::uint32_t>(found_.size());
  for (std::uint32_t row = 0; row < n; ++row) {
    if (row % 1024 == 0) QV_TRY(search_.environment().cancel.check());
    for (const Neighbour& to : found_[row]) {
      const bool is_mutual = std::ranges::any_of(
          found_[to.position], [&](const Neighbour& back) { return back.position == row; });
      if (!is_mutual) missing.push_back({to.position, {row, to.score}});
    }
  }
  for (const auto& [row, to] : missing) found_[row].push_back(to);
  for (auto& pairs : found_) {
    std::sort(pairs.begin(), pairs.end(),
              [](const Neighbour& a, const Neighbour& b) { return is_better(a, b); });
  }
  return {};
}

}  // namespace

Result<DuplicateRows> find_duplicates(const NeighbourSearch& search, const DuplicatesJoin& request,
                                      JoinProgress& progress) {
  DuplicateRows duplicates;
  if (search.rows().size() < 2) return duplicates;
  PairSearch pair_search(search, request.min_score);
  QV_TRY(pair_search.run(progress));
  auto found = pair_search.take();
  const auto n = static_cast<std::uint32_t>(found.size());
  RowGroups groups(n);
  const bool keeps_smallest = request.keep == KeptDuplicate::kSmallestId;
  for (std::uint32_t row = 0; row < n; ++row) {
    for (const Neighbour& to : found[row]) {
      const std::uint32_t a = groups.of(row);
      const std::uint32_t b = groups.of(to.position);
      if (a != b)
        groups.join(keeps_smallest ? std::min(a, b) : std::max(a, b),
                    keeps_smallest ? std::max(a, b) : std::min(a, b));
    }
  }
  for (std::uint32_t row = 0; row < n; ++row) {
    if (found[row].empty()) continue;
    duplicates.rows.push_back(row);
    duplicates.pairs.push_back(std::move(found[row]));
    duplicates.kept.push_back(groups.of(row));
  }
  return duplicates;
}

}  // namespace quiver::engine
