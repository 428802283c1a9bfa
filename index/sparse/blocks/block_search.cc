#include <algorithm>
#include <array>
#include <optional>

#include "index/sparse/blocks/block_scores.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/visited.h"

namespace quiver::index::sparse {
namespace {

/// Blocks and rows prefetched ahead: as many lines as a core loads at once. Half and one and a half
/// times as many measured the same.
constexpr std::size_t kBlocksAhead = 16;
constexpr std::size_t kFirstRowsAhead = 8;
constexpr std::size_t kHeadsAhead = 16;
constexpr std::size_t kPlacesAhead = 8;
constexpr std::size_t kRecordsAhead = 8;
constexpr std::size_t kRowsPerPoll = 64;
constexpr std::size_t kBlocksPerPoll = 64;

/// Memory of one search, reused.
struct BlockScratch {
  BlockScorer scorer;
  VisitedRows visited;
  BestRows best;
  std::vector<std::uint32_t> met;     ///< rows in order of discovery
  std::vector<std::uint32_t> passed;  ///< rows whose top components score well enough
  std::vector<ScoredRow> results;

  void start(std::size_t n_wanted) {
    visited.clear();
    met.clear();
    passed.clear();
    best.start(n_wanted);
  }
};

/// Search for one query. Rows pass a pipeline: met, place prefetched, record prefetched, scored.
class BlockSearch {
 public:
  /// `scratch.scorer` has scored the query's blocks.
  BlockSearch(const Blocks& blocks, const Records& records, const BlockQuery& query,
              const RowFilter& filter, const Cancel& cancel, BlockScratch& scratch)
      : blocks_(blocks),
        table_(query.table),
        records_(records),
        filter_(filter),
        params_(query.params),
        cancel_(cancel),
        scratch_(scratch),
        order_(scratch.scorer.blocks()),
        use_heads_(query.params.head_factor > 0 && !blocks.heads().empty()) {}

  /// Reads the next block if it may hold a wanted row; else false. Queries of a batch call it in
  /// turn, so that prefetched lines arrive meanwhile.
  bool step() {
    if (next_ == order_.size() || must_stop()) return false;
    if (next_ == 0) prefetch_start();
    prefetch_ahead();
    if (next_ % kBlocksPerPoll == 0 && cancel_.poll())
      stopped_ = true;  // the filter may allow no row
    const ScoredBlock block = order_[next_];
    const float floor = params_.heap_factor * scratch_.best.threshold();
    if (static_cast<float>(block.sum()) * scratch_.scorer.unit() < floor) return false;
    ++next_;
    for (const std::uint32_t row : blocks_.rows(block.block())) meet(row);
    return true;
  }
  Result<> finish() {
    drain();
    visit_neighbours();
    return cancel_.check();
  }
  [[nodiscard]] std::size_t n_judged() const { return n_judged_; }
  [[nodiscard]] std::size_t n_scored() const { return n_scored_; }
  [[nodiscard]] std::size_t n_blocks() const { return next_; }

 private:
  [[nodiscard]] bool is_spent() const {
    return params_.budget != 0 && scratch_.met.size() >= params_.budget;
  }
  [[nodiscard]] bool must_stop() const {
    if (is_spent()) return true;
    if (params_.patience != 0 && n_in_vain_ >= params_.patience) return true;
    return stopped_;
  }
  void prefetch_start() {
    for (std::size_t i = 0; i < std::min(kBlocksAhead, order_.size()); ++i) {
      blocks_.prefetch_place(order_[i].block());
    }
    for (std::size_t i = 0; i < std::min(kFirstRowsAhead, order_.size()); ++i) {
      blocks_.prefetch_rows(order_[i].block());
    }
  }
  void prefetch_ahead() {
    if (next_ + kBlocksAhead < order_.size()) {
      blocks_.prefetch_place(order_[next_ + kBlocksAhead].block());
    }
    if (next_ + kFirstRowsAhead < order_.size()) {
      blocks_.prefetch_rows(order_[next_ + kFirstRowsAhead].block());
    }
  }
  /// Tests the filter before anything of the row is read. A damaged file may have unknown rows.
  void meet(std::uint32_t row) {
    if (row >= blocks_.n_rows() || !filter_.allows(row) || is_spent() ||
        !scratch_.visited.insert(row))
      return;
    scratch_.met.push_back(row);
    if (!use_heads_) return pass(row);
    blocks_.heads().prefetch(row);
    if (scratch_.met.size() > n_judged_ + kHeadsAhead) judge_one();
  }
  void judge_one() {
    const std::uint32_t row = scratch_.met[n_judged_++];
    // A negative threshold comes from negative weights; then all rows pass.
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
    const float score = records_.score(table_, row);
    // A neighbour may share no term with the query; then it is no hit.
    const bool is_hit = !is_at_neighbours_ || score != 0;
    const bool enters = is_hit && scratch_.best.offer({score, row});
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
    is_at_neighbours_ = true;
    for (const ScoredRow& candidate : results) blocks_.prefetch_neighbours(candidate.row);
    for (const ScoredRow& candidate : results) {
      for (const std::uint32_t row : blocks_.neighbours(candidate.row).first(n)) meet(row);
    }
    drain();
  }

  const Blocks& blocks_;
  const float* table_;
  const Records& records_;
  const RowFilter& filter_;
  const BlockSearchParams& params_;
  const Cancel& cancel_;
  BlockScratch& scratch_;
  BestFirst order_;
  bool use_heads_;
  std::size_t next_ = 0;      ///< next block of `order_`
  std::size_t n_judged_ = 0;  ///< rows judged by their top components
  std::size_t n_fetched_ = 0;
  std::size_t n_scored_ = 0;
  std::size_t n_in_vain_ = 0;
  bool is_at_neighbours_ = false;
  bool stopped_ = false;
};

void take_turns(std::span<std::optional<BlockSearch>> searches) {
  std::array<bool, kQueriesAtOnce> is_over{};
  for (std::size_t n_over = 0; n_over < searches.size();) {
    for (std::size_t i = 0; i < searches.size(); ++i) {
      if (is_over[i] || searches[i]->step()) continue;
      is_over[i] = true;
      ++n_over;
    }
  }
}

void count(const BlockSearch& search, std::size_t head_bytes, std::size_t record_bytes,
           WorkCounters& work) {
  work.n_blocks += search.n_blocks();
  work.n_codes_scored += search.n_scored() + search.n_judged();
  work.n_bytes += search.n_judged() * head_bytes;
  work.n_bytes += search.n_scored() * (record_bytes + sizeof(std::uint32_t));
}

}  // namespace

Result<> Blocks::search(std::span<const BlockQuery> queries, const Records& records,
                        const RowFilter& filter, const Cancel& cancel, WorkCounters& work) const {
  thread_local std::array<BlockScratch, kQueriesAtOnce> scratches;
  std::array<std::optional<BlockSearch>, kQueriesAtOnce> searches;
  const std::size_t record_bytes = n_rows_ == 0 ? 0 : records.bytes() / n_rows_;
  for (std::size_t first = 0; first < queries.size(); first += kQueriesAtOnce) {
    const auto some = queries.subspan(first, std::min(kQueriesAtOnce, queries.size() - first));
    for (std::size_t i = 0; i < some.size(); ++i) {
      scratches[i].start(some[i].n_wanted);
      QV_TRY(scratches[i].scorer.score(*this, some[i].terms, some[i].params, cancel, work));
      searches[i].emplace(*this, records, some[i], filter, cancel, scratches[i]);
    }
    take_turns(std::span(searches).first(some.size()));
    for (std::size_t i = 0; i < some.size(); ++i) {
      QV_TRY(searches[i]->finish());
      scratches[i].best.take(*some[i].out);
      count(*searches[i], heads_.bytes_per_row(), record_bytes, work);
    }
  }
  return {};
}

}  // namespace quiver::index::sparse
