#include "engine/query/fusion_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "engine/query/plan.h"
#include "engine/query/stages/linear.h"

namespace quiver::engine {
namespace {

constexpr std::size_t kPlaces = 10;
constexpr double kFirstStep = 0.5;
constexpr double kLastStep = 1.0 / 64;
/// Rises of the mean that are no more than rounding.
constexpr double kLeastRise = 1e-9;
constexpr std::size_t kMaxSweeps = 10;  // of all weights by one step
constexpr std::size_t kCasesBetweenChecks = 64;
constexpr std::size_t kNoFold = kLearningFolds;
/// Of equally good ones the first is taken.
constexpr Normalization kNormalizations[] = {Normalization::kMinMax, Normalization::kZScore,
                                             Normalization::kQuantile, Normalization::kNone};

using FusionWeights = std::vector<double>;

double gain(std::size_t rank) {
  return rank < kPlaces ? 1 / std::log2(static_cast<double>(rank) + 2) : 0;
}

double greatest_gain(std::size_t n_relevant) {
  double sum = 0;
  for (std::size_t rank = 0; rank < std::min(n_relevant, kPlaces); ++rank) sum += gain(rank);
  return sum;
}

/// The points of a judged query with their scaled scores.
struct Case {
  std::size_t fold = 0;
  std::vector<double> scores;         ///< [n_points, n_lists], points ascending by id
  std::vector<std::size_t> relevant;  ///< numbers of points
  double greatest_gain = 0;
};

/// Judged queries under one normalization.
class Cases {
 public:
  Cases(std::span<const JudgedLists> judged, Normalization normalization, MissingScore missing)
      : n_lists_(judged.front().lists.size()), range_(n_lists_) {
    std::vector<std::size_t> n_found(n_lists_);
    for (std::size_t i = 0; i < judged.size(); ++i) {
      cases_.push_back(make_case(judged[i], normalization, missing, n_found));
      cases_.back().fold = i % kLearningFolds;
    }
    for (std::size_t list = 0; list < n_lists_; ++list) {
      if (n_found[list] > 0) range_[list] /= static_cast<double>(n_found[list]);
      if (range_[list] == 0) range_[list] = 1;
    }
    for (auto& one : cases_) {
      for (std::size_t i = 0; i < one.scores.size(); ++i) one.scores[i] /= range_[i % n_lists_];
    }
  }

  [[nodiscard]] std::size_t n_lists() const { return n_lists_; }

  /// The mean of nDCG@10 over the cases of which `is_wanted(fold)`.
  template <class IsWanted>
  Result<double> mean(const FusionWeights& weights, const Cancel& cancel,
                      const IsWanted& is_wanted) {
    double sum = 0;
    std::size_t n = 0;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (i % kCasesBetweenChecks == 0) QV_TRY(cancel.check());
      if (!is_wanted(cases_[i].fold)) continue;
      sum += ndcg(cases_[i], weights);
      ++n;
    }
    return n == 0 ? 0 : sum / static_cast<double>(n);
  }

  /// Weights of scaled scores, of sum 1.
  [[nodiscard]] std::vector<float> unscaled(const FusionWeights& weights) const {
    FusionWeights plain = weights;
    for (std::size_t i = 0; i < n_lists_; ++i) plain[i] /= range_[i];
    const double sum = std::accumulate(plain.begin(), plain.end(), 0.0);
    std::vector<float> rounded;
    for (const double weight : plain) rounded.push_back(static_cast<float>(weight / sum));
    return rounded;
  }

 private:
  Case make_case(const JudgedLists& judged, Normalization normalization, MissingScore missing,
                 std::vector<std::size_t>& n_found) {
    std::map<PointId, std::size_t> row_of;
    for (const auto& list : judged.lists) {
      for (const auto& hit : list) row_of.emplace(hit.id, 0);
    }
    std::size_t row = 0;
    for (auto& [id, number] : row_of) number = row++;
    Case one;
    one.greatest_gain = greatest_gain(judged.relevant.size());
    one.scores.resize(row_of.size() * n_lists_);
    for (std::size_t list = 0; list < n_lists_; ++list) {
      const auto& hits = judged.lists[list];
      const auto scaled = scaled_scores(hits, normalization);
      const double lacking = missing_score(scaled, missing);
      for (std::size_t i = 0; i < row; ++i) one.scores[i * n_lists_ + list] = lacking;
      for (std::size_t i = 0; i < scaled.size(); ++i) {
        one.scores[row_of.at(hits[i].id) * n_lists_ + list] = scaled[i];
      }
      if (scaled.empty()) continue;
      const auto [low, high] = std::ranges::minmax(scaled);
      range_[list] += high - low;
      ++n_found[list];
    }
    for (const auto& id : judged.relevant) {
      if (const auto found = row_of.find(id); found != row_of.end()) {
        one.relevant.push_back(found->second);
      }
    }
    return one;
  }

  double ndcg(const Case& one, const FusionWeights& weights) {
    if (one.relevant.empty()) return 0;
    sums_.assign(one.scores.size() / n_lists_, 0);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      double sum = 0;
      for (std::size_t list = 0; list < n_lists_; ++list) {
        sum += weights[list] * one.scores[i * n_lists_ + list];
      }
      sums_[i] = static_cast<float>(sum);
    }
    double gains = 0;
    for (const std::size_t point : one.relevant) gains += gain(rank_of(point));
    return gains / one.greatest_gain;
  }

  /// Points before this one by (score, id); at most kPlaces of them are counted.
  [[nodiscard]] std::size_t rank_of(std::size_t point) const {
    std::size_t rank = 0;
    for (std::size_t i = 0; i < sums_.size() && rank < kPlaces; ++i) {
      if (sums_[i] > sums_[point] || (sums_[i] == sums_[point] && i < point)) ++rank;
    }
    return rank;
  }

  std::size_t n_lists_;
  std::vector<Case> cases_;
  FusionWeights range_;      ///< of each list, the mean over cases where it found something
  std::vector<float> sums_;  ///< of the points of one case
};

struct Choice {
  FusionWeights weights;
  double mean = -1;
};

/// The ascent over all cases but those of one fold.
class Ascent {
 public:
  Ascent(Cases& cases, std::size_t left_out, const Cancel& cancel)
      : cases_(cases), left_out_(left_out), cancel_(cancel) {}

  Result<Choice> run() {
    QV_TRY(start());
    for (double step = kFirstStep; step >= kLastStep; step /= 2) {
      for (std::size_t sweep = 0; sweep < kMaxSweeps; ++sweep) {
        QV_TRY(const bool has_risen, change_each_by(step));
        if (!has_risen) break;
      }
    }
    return best_;
  }

 private:
  Result<> start() {
    const std::size_t n = cases_.n_lists();
    QV_TRY(offer(FusionWeights(n, 1 / static_cast<double>(n))));
    for (std::size_t list = 0; list < n; ++list) {
      FusionWeights alone(n);
      alone[list] = 1;
      QV_TRY(offer(std::move(alone)));
    }
    return {};
  }

  Result<bool> change_each_by(double step) {
    bool has_risen = false;
    for (std::size_t list = 0; list < cases_.n_lists(); ++list) {
      for (const double change : {step, -step}) {
        FusionWeights changed = best_.weights;
        changed[list] = std::max(0.0, changed[list] + change);
        const double sum = std::accumulate(changed.begin(), changed.end(), 0.0);
        if (sum == 0) continue;
        for (double& weight : changed) weight /= sum;
        QV_TRY(const bool is_better, offer(std::move(changed)));
        has_risen |= is_better;
      }
    }
    return has_risen;
  }

  /// True if these weights are better than the best.
  Result<bool> offer(FusionWeights weights) {
    const auto is_learned_from = [&](std::size_t fold) { return fold != left_out_; };
    QV_TRY(const double mean, cases_.mean(weights, cancel_, is_learned_from));
    if (mean <= best_.mean + kLeastRise) return false;
    best_ = {std::move(weights), mean};
    return true;
  }

  Cases& cases_;
  const std::size_t left_out_;
  const Cancel& cancel_;
  Choice best_;
};

/// The best of several normalizations.
class Learner {
 public:
  Learner(std::span<const JudgedLists> judged, std::span<const Normalization> normalizations,
          MissingScore missing, const Cancel& cancel)
      : normalizations_(normalizations), missing_(missing), cancel_(cancel) {
    for (const auto one : normalizations) cases_.emplace_back(judged, one, missing);
  }

  Result<Linear> learn() {
    QV_TRY(const auto chosen, choose(kNoFold));
    Linear linear;
    linear.weights = cases_[chosen.normalization].unscaled(chosen.weights);
    linear.normalization = normalizations_[chosen.normalization];
    linear.missing = missing_;
    return linear;
  }

  /// The mean over queries, each by what the other folds choose. Folds differ in size by one query
  /// at most.
  Result<double> held_out(std::size_t n_judged) {
    double sum = 0;
    for (std::size_t fold = 0; fold < kLearningFolds; ++fold) {
      QV_TRY(const auto chosen, choose(fold));
      const auto is_judged = [fold](std::size_t other) { return other == fold; };
      QV_TRY(const double mean,
             cases_[chosen.normalization].mean(chosen.weights, cancel_, is_judged));
      const std::size_t n = (n_judged + kLearningFolds - 1 - fold) / kLearningFolds;
      sum += mean * static_cast<double>(n);
    }
    return sum / static_cast<double>(n_judged);
  }

 private:
  struct Chosen {
    std::size_t normalization = 0;
    FusionWeights weights;
  };

  Result<Chosen> choose(std::size_t left_out) {
    Chosen chosen;
    double best = -1;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      QV_TRY(auto choice, Ascent(cases_[i], left_out, cancel_).run());
      if (choice.mean <= best + kLeastRise) continue;
      best = choice.mean;
      chosen = {i, std::move(choice.weights)};
    }
    return chosen;
  }

  std::span<const Normalization> normalizations_;
  const MissingScore missing_;
  const Cancel& cancel_;
  std::vector<Cases> cases_;
};

void add_baselines(std::span<const JudgedLists> judged, LearnedFusion& learned) {
  learned.alone.resize(judged.front().lists.size());
  for (const auto& [lists, relevant] : judged) {
    learned.rrf += ndcg_of(fuse_rrf(lists, Rrf{}), relevant);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      learned.alone[i] += ndcg_of(lists[i], relevant);
    }
  }
  const auto n = static_cast<double>(judged.size());
  learned.rrf /= n;
  for (double& alone : learned.alone) alone /= n;
}

}  // namespace

double ndcg_of(std::span<const Ranked> list, std::span<const PointId> relevant) {
  double gains = 0;
  for (std::size_t rank = 0; rank < std::min(list.size(), kPlaces); ++rank) {
    if (std::ranges::find(relevant, list[rank].id) != relevant.end()) gains += gain(rank);
  }
  return relevant.empty() ? 0 : gains / greatest_gain(relevant.size());
}

Result<LearnedFusion> learn_weights(std::span<const JudgedLists> judged,
                                    std::optional<Normalization> normalization,
                                    MissingScore missing, const Cancel& cancel) {
  std::span<const Normalization> normalizations = kNormalizations;
  if (normalization) normalizations = {&*normalization, 1};
  Learner learner(judged, normalizations, missing, cancel);
  LearnedFusion learned;
  QV_TRY(learned.linear, learner.learn());
  QV_TRY(learned.held_out, learner.held_out(judged.size()));
  add_baselines(judged, learned);
  learned.n_judged = judged.size();
  return learned;
}

Result<LearnedFusion> learn_fusion(const SearchEnvironment& environment,
                                   const FusionLearning& learning) {
  std::vector<JudgedLists> judged;
  judged.reserve(learning.judged.size());
  for (const auto& [query, relevant] : learning.judged) {
    QV_TRY(environment.cancel.check());
    QV_TRY(const auto rankings, rank_prefetches(environment, query));
    judged.push_back({lists_of(rankings), relevant});
  }
  return learn_weights(judged, learning.normalization, learning.missing, environment.cancel);
}

}  // namespace quiver::engine
