// Search of the sign codes of all rows that a filter allows. Its time depends on their number only,
// not on where they lie: a filter that takes the near rows costs no more than another.
#include <algorithm>
#include <utility>

#include "index/dense/lists/search/candidate_search_impl.h"

namespace quiver::index::dense {
namespace {

/// Words of a filter that are looked at together.
constexpr std::uint32_t kWordsPerLook = 8;
/// Rows that are scored together, at most; at least half as many while there are more.
constexpr std::size_t kBatchRows = std::size_t{2} * 64 * kWordsPerLook;
/// Batches between two polls of `cancel`.
constexpr std::size_t kBatchesPerPoll = 8;
/// Rows are kept whose estimates lie at most so many deviations below the k-th best. That one is
/// itself one or two deviations too high, as the best of many errors.
constexpr float kKeptDeviations = 4;

/// The threshold is raised when so many rows are kept, and again at each multiple: most rows then
/// are estimated coarsely only.
constexpr std::size_t kFirstLook = 256;
constexpr std::size_t kLooksApart = 2;

/// Keeps the `least` best estimates, and all within a reach of about the k-th best.
class Keeper {
 public:
  Keeper(std::size_t k, std::size_t least, float reach, ScanScratch& scratch)
      : k_(k), least_(least), reach_(reach), scratch_(scratch) {
    grow(std::max(4 * least, 4 * kBatchRows));
  }

  /// Lower estimates are not kept.
  [[nodiscard]] float threshold() const { return threshold_; }

  /// At most `kBatchRows`.
  void add(std::span<const std::uint32_t> rows, const float* estimates) {
    if (hits_.room - hits_.n < rows.size()) shrink();
    std::uint32_t places[kBatchRows];
    const std::size_t n = kernels().topk.at_least(estimates, rows.size(), threshold_, places);
    for (std::size_t i = 0; i < n; ++i, ++hits_.n) {
      hits_.scores[hits_.n] = estimates[places[i]];
      hits_.positions[hits_.n] = rows[places[i]];
    }
    if (hits_.n >= next_look_) shrink();
  }

  [[nodiscard]] const CodeHits& best() {
    shrink();
    return hits_;
  }

 private:
  void grow(std::size_t room) {
    if (scratch_.scores.size() < room) {
      scratch_.scores.resize(room);
      scratch_.positions.resize(room);
    }
    hits_.scores = scratch_.scores.data();
    hits_.positions = scratch_.positions.data();
    hits_.room = room;
  }

  void shrink() {
    const std::size_t want = n_wanted();
    if (hits_.n > want) {
      threshold_ = std::max(threshold_, kernels().codes.keep_best(hits_, want));
    }
    if (hits_.n > hits_.room / 2) grow(2 * hits_.room);
    next_look_ = kLooksApart * hits_.n;
  }

  [[nodiscard]] std::size_t n_wanted() {
    if (hits_.n <= least_) return hits_.n;
    auto& order = scratch_.order;
    auto& places = scratch_.places;
    order.assign(hits_.scores, hits_.scores + hits_.n);
    places.resize(hits_.n);
    CodeHits copy{order.data(), places.data(), hits_.n, hits_.n};
    const float least_score = kernels().codes.keep_best(copy, k_) - reach_;
    const auto n_within = std::count_if(hits_.scores, hits_.scores + hits_.n,
                                        [&](float score) { return score >= least_score; });
    return std::max(least_, static_cast<std::size_t>(n_within));
  }

  std::size_t k_;
  std::size_t least_;
  float reach_;
  float threshold_ = -kWholeReach;
  std::size_t next_look_ = kFirstLook;
  CodeHits hits_;
  ScanScratch& scratch_;
};

/// Estimates rows by one bit a dimension of the query first. Those that may be kept all the same
/// are estimated by four.
class SignScan {
 public:
  SignScan(const SignRows& signs, const SignQuery& query, Keeper& keeper)
      : signs_(signs),
        query_(query),
        keeper_(keeper),
        spare_(kKeptDeviations * std::max(0.0F, query.coarse_deviation - query.deviation)) {}

  /// At most `kBatchRows`.
  void add(std::span<const std::uint32_t> rows) {
    std::uint32_t kept[kBatchRows];
    float estimates[kBatchRows];
    const float least = keeper_.threshold() - spare_;
    if (is_worthwhile_ && least > -kWholeReach) {
      signs_.score(query_.coarse, rows, estimates);
      const std::size_t n = kernels().topk.at_least(estimates, rows.size(), least, kept);
      for (std::size_t i = 0; i < n; ++i) kept[i] = rows[kept[i]];
      is_worthwhile_ = n <= rows.size() / 2;
      rows = {kept, n};
    }
    if (rows.empty()) return;
    signs_.score(query_.fine, rows, estimates);
    keeper_.add(rows, estimates);
  }

 private:
  const SignRows& signs_;
  const SignQuery& query_;
  Keeper& keeper_;
  float spare_;                ///< coarse estimates may lie so far below the threshold
  bool is_worthwhile_ = true;  ///< coarse estimates tell most rows
};

}  // namespace

double CandidateSearch::signs_bytes(std::size_t n_allowed, const ListsSearchParams& params) const {
  const auto n_bytes = static_cast<double>(signs_->n_bytes());
  const double far = std::max(0.0, 1 - cost::kCachedSignBytes / std::max(1.0, n_bytes));
  const double seek = cost::kSignSeekBytes * (1 - far) + cost::kSignFarSeekBytes * far;
  const double row_bytes = seek + static_cast<double>(signs_->row_bytes());
  const double n_kept = std::min<double>(params.rerank, static_cast<double>(n_allowed));
  return static_cast<double>(n_allowed) * row_bytes + n_kept * cost::kRowSeekBytes;
}

/// As `score_allowed`.
template <class Take>
Result<> CandidateSearch::score_listed(const Search& search, std::span<const std::uint32_t> rows,
                                       Take& take) const {
  for (std::size_t first = 0; first < rows.size(); first += kBatchRows) {
    if (first / kBatchRows % kBatchesPerPoll == 0) QV_TRY(search.request.cancel.check());
    take(rows.subspan(first, std::min(kBatchRows, rows.size() - first)));
  }
  search.request.work.n_codes_scored += rows.size();
  search.request.work.n_bytes += rows.size() * signs_->row_bytes();
  return {};
}

/// Calls `take(rows)` for batches of the allowed rows, ascending.
template <class Take>
Result<> CandidateSearch::score_allowed(const Search& search, Take&& take) const {
  std::uint32_t rows[kBatchRows];
  const RowFilter& filter = search.request.filter;
  if (filter.is_listed()) return score_listed(search, filter.listed(), take);
  std::size_t n = 0, n_scored = 0, n_batches = 0;
  const auto score = [&] {
    take(std::span<const std::uint32_t>(rows, n));
    n_scored += std::exchange(n, 0);
  };
  const std::uint32_t n_words = filter.n_blocks();
  for (std::uint32_t w = 0; w < n_words; w += kWordsPerLook) {
    const std::size_t n_next = std::min(kWordsPerLook, n_words - w);
    n += kernels().topk.set_bits(filter.words() + w, n_next, w * 64, rows + n);
    if (n <= kBatchRows / 2) continue;
    if (++n_batches % kBatchesPerPoll == 0) QV_TRY(search.request.cancel.check());
    score();
  }
  score();
  search.request.work.n_codes_scored += n_scored;
  search.request.work.n_bytes += n_scored * signs_->row_bytes();
  return {};
}

/// Usual error of a score by what the reduction left out.
float CandidateSearch::usual_loss(const RotatedQuery& query) const {
  const float product = std::sqrt(query.lost) * lists_.facts().length;
  return similarity_ == Similarity::kNegL2Squared ? 2 * product : product;
}

Result<ListCandidates> CandidateSearch::find_by_signs(const CandidateRequest& request) const {
  thread_local Scratch scratch;
  const Search search{request, rotate(request.vector, scratch.lines),
                      selectivity(request.n_allowed), scratch};
  auto& query = scratch.sign_query;
  signs_->prepare(search.query.values, query);
  query.deviation = std::hypot(query.deviation, usual_loss(search.query));
  query.coarse_deviation = std::hypot(query.coarse_deviation, usual_loss(search.query));
  const std::size_t k = std::max<std::size_t>(1, request.k);
  Keeper keeper(k, std::max<std::size_t>(k, request.params.rerank),
                kKeptDeviations * query.deviation, scratch.scan);
  SignScan scan(*signs_, query, keeper);
  QV_TRY(score_allowed(search, [&](std::span<const std::uint32_t> rows) { scan.add(rows); }));
  const CodeHits& best = keeper.best();
  scratch.rows.assign(best.positions, best.positions + best.n);
  scratch.scores.assign(best.scores, best.scores + best.n);
  if (second_) refine(search);
  return ListCandidates{scratch.rows, std::span(scratch.scores).first(scratch.rows.size()), true};
}

}  // namespace quiver::index::dense
