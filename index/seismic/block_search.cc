#include <algorithm>

#include "index/seismic/block_scores.h"
#include "index/seismic/blocks.h"
#include "index/seismic/visited.h"

namespace quiver::index::seismic {
namespace {

/// Blocks and rows that are under way from memory: as many lines as a core fetches at once. Half
/// and one and a half times as many measured the same.
constexpr std::size_t kBlocksAhead = 16;
constexpr std::size_t kFirstRowsAhead = 8;
constexpr std::size_t kHeadsAhead = 16;
constexpr std::size_t kPlacesAhead = 8;
constexpr std::size_t kRecordsAhead = 8;
constexpr std::size_t kRowsPerPoll = 64;
constexpr std::size_t kBlocksPerPoll = 64;

/// What a search keeps from one query to the next.
struct Scratch {
  BlockScorer scorer;
  VisitedRows visited;
  BestCandidates best;
  std::vector<std::uint32_t> met;     ///< rows in the order in which they were met
  std::vector<std::uint32_t> passed;  ///< those whose heads were good enough, all if there are none
  std::vector<Candidate> results;
};

/// One query. Rows go through a pipeline: met, their place fetched, their record fetched, scored.
class BlockSearch {
 public:
  BlockSearch(const Blocks& blocks, const float* table, const Records& records,
              const FilterView& filter, const BlockSearchParams& params, const Cancel& cancel,
              Scratch& scratch)
      : blocks_(blocks),
        table_(table),
        records_(records),
        filter_(filter),
        params_(params),
        cancel_(cancel),
        scratch_(scratch),
        use_heads_(params.head_factor > 0 && !blocks.heads().empty()) {}

  Result<> run() {
    BestFirst order(scratch_.scorer.blocks());
    const float unit = scratch_.scorer.unit();
    prefetch_start(order);
    for (std::size_t i = 0; i < order.size() && !must_stop(); ++i) {
      prefetch_ahead(order, i);
      if (i % kBlocksPerPoll == 0 && cancel_.poll()) stopped_ = true;  // a filter may allow no row
      const float floor = params_.heap_factor * scratch_.best.threshold();
      if (static_cast<float>(order[i].sum()) * unit < floor) break;
      open_block(order[i].block());
    }
    drain();
    visit_neighbours();
    return cancel_.check();
  }
  [[nodiscard]] std::size_t n_judged() const { return n_judged_; }
  [[nodiscard]] std::size_t n_scored() const { return n_scored_; }
  [[nodiscard]] std::size_t n_blocks() const { return n_blocks_; }

 private:
  [[nodiscard]] bool is_spent() const {
    return params_.budget != 0 && scratch_.met.size() >= params_.budget;
  }
  [[nodiscard]] bool must_stop() const {
    if (is_spent()) return true;
    if (params_.patience != 0 && n_in_vain_ >= params_.patience) return true;
    return stopped_;
  }
  void prefetch_start(BestFirst& order) const {
    for (std::size_t i = 0; i < std::min(kBlocksAhead, order.size()); ++i) {
      blocks_.prefetch_place(order[i].block());
    }
    for (std::size_t i = 0; i < std::min(kFirstRowsAhead, order.size()); ++i) {
      blocks_.prefetch_rows(order[i].block());
    }
  }
  void prefetch_ahead(BestFirst& order, std::size_t i) const {
    if (i + kBlocksAhead < order.size()) {
      blocks_.prefetch_place(order[i + kBlocksAhead].block());
    }
    if (i + kFirstRowsAhead < order.size()) {
      blocks_.prefetch_rows(order[i + kFirstRowsAhead].block());
    }
  }
  void open_block(std::uint32_t block) {
    ++n_blocks_;
    for (const std::uint32_t row : blocks_.rows(block)) meet(row);
  }
  /// Whether a row is allowed is asked before anything of it is touched.
  void meet(std::uint32_t row) {
    if (!filter_.allows(row) || is_spent() || !scratch_.visited.insert(row)) return;
    scratch_.met.push_back(row);
    if (!use_heads_) return pass(row);
    blocks_.heads().prefetch(row);
    if (scratch_.met.size() > n_judged_ + kHeadsAhead) judge_one();
  }
  void judge_one() {
    const std::uint32_t row = scratch_.met[n_judged_++];
    // A threshold below zero comes of negative weights: all rows pass then.
    const float threshold = scratch_.best.threshold();
    const float floor = params_.head_factor * threshold;
    if (threshold > 0 && blocks_.heads().score(table_, row) < floor) {
      ++n_in_vain_;
    } else {
      pass(row);
    }
    if (n_judged_ % kRowsPerPoll == 0 && cancel_.poll()) stopped_ = true;
  }
  void pass(std::uint32_t row) {
    records_.prefetch_place(row);
    scratch_.passed.push_back(row);
    if (scratch_.passed.size() > n_fetched_ + kPlacesAhead) fetch_one();
  }
  void fetch_one() {
    records_.prefetch(scratch_.passed[n_fetched_++]);
    if (n_fetched_ > n_scored_ + kRecordsAhead) score_one();
  }
  void score_one() {
    const std::uint32_t row = scratch_.passed[n_scored_++];
    const bool enters = scratch_.best.offer({records_.score(table_, row), row});
    n_in_vain_ = enters ? 0 : n_in_vain_ + 1;
    if (n_scored_ % kRowsPerPoll == 0 && cancel_.poll()) stopped_ = true;
  }
  void drain() {
    while (use_heads_ && n_judged_ < scratch_.met.size()) judge_one();
    while (n_fetched_ < scratch_.passed.size()) fetch_one();
    while (n_scored_ < scratch_.passed.size() && !stopped_) score_one();
  }
  void visit_neighbours() {
    const std::size_t n = std::min(params_.n_knn, blocks_.n_neighbours());
    if (n == 0 || stopped_) return;
    auto& results = scratch_.results;
    results = scratch_.best.candidates();
    std::sort(results.begin(), results.end());
    for (const Candidate& candidate : results) blocks_.prefetch_neighbours(candidate.row);
    for (const Candidate& candidate : results) {
      for (const std::uint32_t row : blocks_.neighbours(candidate.row).first(n)) meet(row);
    }
    drain();
  }

  const Blocks& blocks_;
  const float* table_;
  const Records& records_;
  const FilterView& filter_;
  const BlockSearchParams& params_;
  const Cancel& cancel_;
  Scratch& scratch_;
  bool use_heads_;
  std::size_t n_blocks_ = 0;
  std::size_t n_judged_ = 0;  ///< by their heads
  std::size_t n_fetched_ = 0;
  std::size_t n_scored_ = 0;
  std::size_t n_in_vain_ = 0;
  bool stopped_ = false;
};

}  // namespace

Result<> Blocks::search(std::span<const QueryTerm> terms, const float* table,
                        const Records& records, const FilterView& filter,
                        const BlockSearchParams& params, std::size_t n_wanted, const Cancel& cancel,
                        std::vector<Candidate>& out, WorkCounters& work) const {
  thread_local Scratch scratch;
  scratch.visited.clear();
  scratch.met.clear();
  scratch.passed.clear();
  scratch.best.start(n_wanted);
  out.clear();
  if (n_wanted == 0) return {};
  QV_TRY(scratch.scorer.score(*this, terms, params, cancel, work));
  BlockSearch search(*this, table, records, filter, params, cancel, scratch);
  QV_TRY(search.run());
  scratch.best.take(out);
  const std::uint64_t record_bytes = n_rows_ == 0 ? 0 : records.bytes() / n_rows_;
  work.n_blocks += search.n_blocks();
  work.n_codes_scored += search.n_scored() + search.n_judged();
  work.n_bytes += search.n_judged() * heads_.bytes_per_row();
  work.n_bytes += search.n_scored() * (record_bytes + sizeof(std::uint32_t));
  return {};
}

}  // namespace quiver::index::seismic
