// A few rounds of Lloyd's algorithm compare each row with all centres. If there are many centres,
// rows are first grouped, each group is clustered alone, and each row is then assigned among
// several groups. The remaining rounds compare a row with the centres around its own: most changes
// are between neighbours, and such a round costs a tenth or less. If an older partition is known,
// only these rounds run.
#include "index/dense/lists/kmeans/training.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

#include "index/dense/lists/kmeans/centre_router.h"
#include "index/dense/lists/kmeans/lloyd.h"
#include "index/progress.h"

namespace quiver::index::dense {
namespace {

/// Up to here, the first rounds compare all rows with all centres.
constexpr std::uint32_t kMaxFlatClusters = 1024;
constexpr std::uint32_t kFullRounds = 3;
constexpr std::size_t kNeighboursPerCentre = 32;
/// Rounds between two updates of the neighbours.
constexpr std::uint32_t kNeighbourRounds = 3;
/// Rounds from older means. With one round, a given recall took 5 % more codes after ten
/// generations.
constexpr std::uint32_t kSettleRounds = 2;
/// Crowding beyond which an older partition is not used. Replacing 30 % of rows by others of the
/// same distribution gave 1.12. With 30 % from another distribution it was 1.55, and a search
/// scanned 14 % more codes.
constexpr double kMaxCrowding = 1.3;
/// Shares of the progress at which rows are assigned to groups, and to clusters.
constexpr double kGroupedShare = 0.4;
constexpr double kStartedShare = 0.65;

class Training {
 public:
  Training(const ByteMatrix& rows, std::uint64_t seed, const BuildContext& context)
      : rows_(rows),
        seed_(seed),
        context_(context),
        list_of_(rows.n()),
        mover_(rows.view(), seed) {}

  Result<std::vector<float>> run(std::uint32_t n_clusters, std::uint32_t iterations) {
    const std::uint32_t full = std::min(iterations, kFullRounds);
    if (n_clusters <= kMaxFlatClusters) {
      const auto n_rows = static_cast<std::uint32_t>(rows_.n());
      means_ = lloyd(rows_.view(), all_of(rows_.n()), {n_clusters, full, seed_},
                     part_of(context_, n_rows, 0, kStartedShare, full), list_of_.data());
    } else {
      start_in_groups(n_clusters, full);
    }
    QV_TRY(context_.cancel.check());
    QV_TRY(refine(iterations - full));
    return std::move(means_);
  }

  Result<std::optional<Resumed>> resume(std::vector<float> means, std::uint32_t n_clusters) {
    means_ = std::move(means);
    route();
    QV_TRY(context_.cancel.check());
    if (crowding() > kMaxCrowding) return std::nullopt;
    report(kStartedShare);
    resize(n_clusters);
    QV_TRY(settle());
    return Resumed{std::move(means_), std::move(list_of_)};
  }

 private:
  /// Mean over rows of the length of a row's list, in mean list lengths: 1 if all lists are equally
  /// long.
  [[nodiscard]] double crowding() const {
    const Members lists(list_of_, n_clusters());
    double squares = 0;
    for (std::size_t c = 0; c < lists.n_lists(); ++c) {
      squares += std::pow(static_cast<double>(lists.of(c).size()), 2);
    }
    const auto n = static_cast<double>(rows_.n());
    return squares * static_cast<double>(n_clusters()) / (n * n);
  }

  /// Drops the smallest lists, or adds empty ones.
  void resize(std::uint32_t n_wanted) {
    if (n_clusters() > n_wanted) return drop_smallest(n_clusters() - n_wanted);
    // `Mover` fills empty lists with halves of the largest ones.
    means_.resize(std::size_t{n_wanted} * rows_.dim());
  }

  void drop_smallest(std::size_t n_dropped) {
    const Members lists(list_of_, n_clusters());
    std::vector<std::uint32_t> order = all_of(lists.n_lists());
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return lists.of(a).size() < lists.of(b).size();
    });
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(n_dropped), order.end());
    std::vector<float> kept;
    std::vector<std::uint32_t> homeless;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto rows = lists.of(order[i]);
      if (i < n_dropped) {
        homeless.insert(homeless.end(), rows.begin(), rows.end());
        continue;
      }
      const auto mean =
          means_.begin() + static_cast<std::ptrdiff_t>(std::size_t{order[i]} * rows_.dim());
      kept.insert(kept.end(), mean, mean + rows_.dim());
      for (const std::uint32_t row : rows)
        list_of_[row] = static_cast<std::uint32_t>(i - n_dropped);
    }
    means_ = std::move(kept);
    std::sort(homeless.begin(), homeless.end());
    assign_all(rows_.view(), homeless, Centres(means_, rows_.dim()), context_, list_of_.data());
  }

  /// Rounds among neighbours. The final lists belong to the final means.
  Result<> settle() {
    for (std::uint32_t round = 0; round < kSettleRounds; ++round) {
      move(round == 0 ? Mover::Small::kRestart : Mover::Small::kKeep);
      const Centres centres(means_, rows_.dim());
      assign_near(centres, CentreNeighbours(centres, kNeighboursPerCentre, context_));
      QV_TRY(context_.cancel.check());
      report(kStartedShare + (1 - kStartedShare) * (round + 1) / kSettleRounds);
    }
    return {};
  }

  /// Clusters the rows into groups, each group into its share of the clusters, then assigns each
  /// row among several groups.
  void start_in_groups(std::uint32_t n_clusters, std::uint32_t rounds) {
    const auto n_groups = static_cast<std::uint32_t>(std::lround(std::sqrt(n_clusters)));
    const Members groups = groups_of_rows(n_groups);
    std::vector<std::uint32_t> first(n_groups + 1);
    for (std::size_t g = 0; g < n_groups; ++g) {
      const double share =
          static_cast<double>(groups.of(g).size()) / static_cast<double>(rows_.n());
      const auto n = static_cast<std::uint32_t>(std::lround(share * n_clusters));
      first[g + 1] = first[g] + (groups.of(g).empty() ? 0 : std::max(1U, n));
    }
    means_.resize(std::size_t{first.back()} * rows_.dim());
    const BuildContext alone{nullptr, context_.cancel, 0, nullptr};
    std::atomic<std::uint32_t> n_done = 0;
    for_each(context_, n_groups, [&](std::size_t g) {
      report(kGroupedShare * n_done++ / n_groups);
      if (groups.of(g).empty()) return;
      const auto means =
          lloyd(rows_.view(), groups.of(g), {first[g + 1] - first[g], rounds, seed_ + g}, alone,
                list_of_.data());
      std::copy(means.begin(), means.end(),
                means_.begin() + static_cast<std::ptrdiff_t>(std::size_t{first[g]} * rows_.dim()));
    });
    if (context_.cancel.poll()) return;
    route();
    report(kStartedShare);
    move(Mover::Small::kRestart);
  }

  /// Assigns each row to the nearest of all means.
  void route() {
    const Centres centres(means_, rows_.dim());
    route_all(rows_, CentreRouter(centres, context_), context_, list_of_.data());
  }

  void report(double share) const {
    if (!context_.progress) return;
    context_.progress(static_cast<std::uint64_t>(share * static_cast<double>(rows_.n())));
  }

  [[nodiscard]] Members groups_of_rows(std::uint32_t n_groups) {
    constexpr std::size_t kRowsPerGroup = 256;
    constexpr std::uint32_t kRounds = 6;
    const auto n_rows = static_cast<std::uint32_t>(rows_.n());
    const auto n_some =
        static_cast<std::uint32_t>(std::min<std::size_t>(n_rows, n_groups * kRowsPerGroup));
    const std::vector<float> means =
        lloyd(rows_.view(), spread(n_some, n_rows, seed_), {n_groups, kRounds, seed_},
              quiet(context_), list_of_.data());
    assign_all(rows_.view(), all_of(n_rows), Centres(means, rows_.dim()), context_,
               list_of_.data());
    return Members(list_of_, n_groups);
  }

  [[nodiscard]] std::size_t n_clusters() const { return means_.size() / rows_.dim(); }

  void move(Mover::Small small) {
    mover_.move(Members(list_of_, n_clusters()), small, context_, means_);
  }

  Result<> refine(std::uint32_t rounds) {
    std::optional<CentreNeighbours> neighbours;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const Centres centres(means_, rows_.dim());
      if (round % kNeighbourRounds == 0)
        neighbours.emplace(centres, kNeighboursPerCentre, context_);
      const std::size_t n_moved = assign_near(centres, *neighbours);
      QV_TRY(context_.cancel.check());
      // A restarted cluster needs rounds to settle and to become a neighbour of others.
      const bool restart =
          round % kNeighbourRounds == kNeighbourRounds - 1 && round + kNeighbourRounds <= rounds;
      move(restart ? Mover::Small::kRestart : Mover::Small::kKeep);
      report(kStartedShare + (1 - kStartedShare) * (round + 1) / rounds);
      if (n_moved * 200 < rows_.n()) break;
    }
    report(1);
    return {};
  }

  /// Moves rows between neighbouring lists; returns the number of rows moved.
  std::size_t assign_near(const Centres& centres, const CentreNeighbours& neighbours) {
    constexpr std::size_t kListsPerTask = 16;
    const Members members(list_of_, centres.n());
    const std::vector<std::uint32_t> before = list_of_;
    for_each(context_, (centres.n() + kListsPerTask - 1) / kListsPerTask, [&](std::size_t task) {
      if (context_.cancel.poll()) return;
      CentreSearch search(centres);
      const std::size_t end = std::min(centres.n(), (task + 1) * kListsPerTask);
      for (std::size_t c = task * kListsPerTask; c < end; ++c) {
        search.nearest(rows_.view(), members.of(c), neighbours.of(c), list_of_.data());
      }
    });
    std::size_t n_moved = 0;
    for (std::size_t i = 0; i < before.size(); ++i) n_moved += list_of_[i] != before[i];
    return n_moved;
  }

  const ByteMatrix& rows_;
  std::uint64_t seed_;
  const BuildContext& context_;
  std::vector<std::uint32_t> list_of_;  // [n_rows]
  std::vector<float> means_;            // [n_clusters, dim] in units of codes
  Mover mover_;
};

}  // namespace

Result<std::vector<float>> train(const ByteMatrix& rows, std::uint32_t n_clusters,
                                 std::uint32_t iterations, std::uint64_t seed,
                                 const BuildContext& context) {
  return Training(rows, seed, context).run(n_clusters, iterations);
}

Result<std::optional<Resumed>> resume(const ByteMatrix& rows, std::vector<float> means,
                                      std::uint32_t n_clusters, std::uint64_t seed,
                                      const BuildContext& context) {
  return Training(rows, seed, context).resume(std::move(means), n_clusters);
}

}  // namespace quiver::index::dense
