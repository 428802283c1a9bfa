#include "engine/query/candidates.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>

namespace quiver::engine {
namespace {

bool passes_threshold(Metric metric, float score, float threshold, bool is_inclusive) {
  const float shown = shown_score(metric, score);
  if (shown == threshold) return is_inclusive;
  return is_distance(metric) ? shown < threshold : shown > threshold;
}

}  // namespace

void keep_best(Candidates& candidates, std::uint64_t limit) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  if (candidates.size() > limit) candidates.resize(limit);
}

float shown_score(Metric metric, float score) {
  constexpr float kMost = std::numeric_limits<float>::max();
  if (metric == Metric::kEuclid) score = std::sqrt(std::abs(score));
  if (metric == Metric::kManhattan) score = 0.0F - score;
  return std::clamp(score, -kMost, kMost);
}

void apply_threshold(float threshold, bool is_inclusive, Ranking& ranking) {
  std::erase_if(ranking.candidates, [&](const Candidate& candidate) {
    return !passes_threshold(ranking.metric, candidate.score, threshold, is_inclusive);
  });
}

std::vector<std::vector<Ranked>> ranked(const std::vector<Ranking>& lists) {
  std::vector<std::vector<Ranked>> out;
  for (const auto& list : lists) {
    auto& hits = out.emplace_back();
    for (const auto& candidate : list.candidates) {
      const float shown = shown_score(list.metric, candidate.score);
      hits.push_back({candidate.id, is_distance(list.metric) ? -shown : shown});
    }
  }
  return out;
}

Ranking fused(const std::vector<Ranking>& lists, const std::vector<Ranked>& order,
              std::uint64_t limit) {
  std::unordered_map<PointId, const Candidate*> by_id;
  for (const auto& list : lists) {
    for (const auto& candidate : list.candidates) by_id.emplace(candidate.id, &candidate);
  }
  Ranking ranking;
  for (const auto& hit : order) {
    if (ranking.candidates.size() == limit) break;
    ranking.candidates.push_back(*by_id.at(hit.id));
    ranking.candidates.back().score = hit.score;
  }
  return ranking;
}

Candidates union_of(const std::vector<Ranking>& lists) {
  Candidates all;
  for (const auto& list : lists) {
    all.insert(all.end(), list.candidates.begin(), list.candidates.end());
  }
  std::sort(all.begin(), all.end(),
            [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  const auto same = [](const Candidate& a, const Candidate& b) { return a.id == b.id; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

std::unordered_map<const Segment*, Bitset> rows_by_segment(const Candidates& candidates) {
  std::unordered_map<const Segment*, Bitset> rows;
  for (const auto& candidate : candidates) {
    const auto entry = rows.try_emplace(candidate.segment, candidate.segment->n_rows()).first;
    entry->second.set(candidate.row);
  }
  return rows;
}

Ranking sampled(const Candidates& all, std::uint64_t limit) {
  Candidates chosen;
  std::mt19937_64 random(std::random_device{}());
  // std::sample takes it as signed, and never ends with what is negative then.
  const auto n_wanted = std::min<std::uint64_t>(limit, all.size());
  std::sample(all.begin(), all.end(), std::back_inserter(chosen), n_wanted, random);
  std::shuffle(chosen.begin(), chosen.end(), random);
  for (auto& candidate : chosen) candidate.score = 1.0F;
  return {std::move(chosen), Metric::kDot};
}

}  // namespace quiver::engine
