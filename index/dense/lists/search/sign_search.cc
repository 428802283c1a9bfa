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

/// Keeps the `least` best estimates, and all within a reach of about the k-th best.
class Keeper {
 public:
  Keeper(std::size_t k, std::size_t least, float reach, ScanScratch& scratch)
      : k_(k), least_(least), reach_(reach), scratch_(scratch) {
    grow(std::max(4 * least, 4 * kBatchRows));
  }

  /// At most `kBatchRows`.
  void add(std::span<const std::uint32_t> rows, const float* estimates) {
    if (hits_.room - hits_.n < rows.size()) shrink();
    std::uint32_t places[kBatchRows];
    const std::size_t n = kernels().topk.at_least(estimates, rows.size(), threshold_, places);
    for (std::size_t i = 0; i < n; ++i, ++hits_.n) {
      hits_.scores[hits_.n] = estimates[places[i]];
      hits_.positions[hits_.n] = rows[places[i]];
    }
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
  CodeHits hits_;
  ScanScratch& scratch_;
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
  float estimates[kBatchRows];
  for (std::size_t first = 0; first < rows.size(); first += kBatchRows) {
    if (first / kBatchRows % kBatchesPerPoll == 0) QV_TRY(search.request.cancel.check());
    const auto batch = rows.subspan(first, std::min(kBatchRows, rows.size() - first));
    signs_->score(search.scratch.sign_query, batch, estimates);
    take(batch, estimates);
  }
  search.request.work.n_codes_scored += rows.size();
  search.request.work.n_bytes += rows.size() * signs_->row_bytes();
  return {};
}

/// Calls `take(rows, estimates)` for batches of the allowed rows, ascending.
template <class Take>
Result<> CandidateSearch::score_allowed(const Search& search, Take&& take) const {
  std::uint32_t rows[kBatchRows];
  float estimates[kBatchRows];
  const RowFilter& filter = search.request.filter;
  if (filter.is_listed()) return score_listed(search, filter.listed(), take);
  std::size_t n = 0, n_scored = 0, n_batches = 0;
  const auto score = [&] {
    signs_->score(search.scratch.sign_query, {rows, n}, estimates);
    take(std::span<const std::uint32_t>(rows, n), estimates);
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
  const std::size_t k = std::max<std::size_t>(1, request.k);
  Keeper keeper(k, std::max<std::size_t>(k, request.params.rerank),
                kKeptDeviations * query.deviation, scratch.scan);
  QV_TRY(score_allowed(search, [&](std::span<const std::uint32_t> rows, const float* estimates) {
    keeper.add(rows, estimates);
  }));
  const CodeHits& best = keeper.best();
  scratch.rows.assign(best.positions, best.positions + best.n);
  scratch.scores.assign(best.scores, best.scores + best.n);
  if (second_) refine(search);
  return ListCandidates{scratch.rows, std::span(scratch.scores).first(scratch.rows.size()), true};
}

}  // namespace quiver::index::dense
