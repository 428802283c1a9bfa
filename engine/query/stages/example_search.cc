#include "engine/query/stages/example_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "engine/indexing/index_params.h"
#include "engine/query/stages/example_rows.h"
#include "engine/segment/segment_filter.h"
#include "index/exact/scan.h"
#include "index/exact/type.h"

namespace quiver::engine {
namespace {

/// Similarities that are computed sooner than an index is searched.
constexpr std::uint64_t kFewSimilarities = 20'000;
/// Candidates for each hit wanted, and at least.
constexpr std::uint64_t kCandidatesPerHit = 2;
constexpr std::uint64_t kLeastCandidates = 128;
/// How many times more candidates each further round takes.
constexpr std::uint64_t kGrowth = 4;
/// A round that would propose more than this share of the rows costs more than to compare all.
constexpr std::uint64_t kGreatestShare = 4;

/// The search of one segment.
class SegmentByExamples {
 public:
  SegmentByExamples(const SearchEnvironment& environment, const ExampleSearch& search,
                    const index::AnyParams& params, const Segment& segment)
      : environment_(environment),
        search_(search),
        segment_(segment),
        data_(*segment.data),
        params_(present_params(params)) {}

  Result<Candidates> run() {
    if (data_.fields[search_.field].n_present == 0 || is_left_out()) return Candidates{};
    QV_TRY(const auto filter,
           SegmentFilter::make(segment_, search_.field, search_.predicate, environment_.cancel));
    const auto rows = filter.view();
    n_allowed_ = rows.n_allowed();
    index::TopK best = heap(search_.limit);
    QV_TRY(const bool is_found, propose(rows, best));
    if (!is_found) {
      best = heap(search_.limit);
      QV_TRY(scan(rows, best));
    }
    Candidates candidates;
    for (const auto& hit : best.take_sorted()) {
      candidates.push_back({data_.ids[hit.row], hit.score, &segment_, hit.row, {}});
    }
    return candidates;
  }
  [[nodiscard]] const index::WorkCounters& work() const { return work_; }

 private:
  /// True if the query is `indexed_only` and the segment's index is missing.
  [[nodiscard]] bool is_left_out() const {
    return search_.params.indexed_only && lacks_index(data_, search_.field, environment_.indexes);
  }

  [[nodiscard]] index::TopK heap(std::uint64_t k) const {
    return index::TopK(std::min<std::uint64_t>(k, segment_.n_live()), data_.ids_unless_sorted());
  }

  /// Offers candidates of the index. False if it cannot propose them.
  Result<bool> propose(const index::RowFilter& rows, index::TopK& best) {
    const auto& params = search_.params;
    const bool has_index = data_.indexes[search_.field].type != &index::kFlat;
    const bool is_small = n_allowed_ * search_.examples.size() <= kFewSimilarities;
    if (!has_index || is_small || params.exact || params.ignore_codes) return false;
    if (search_.nearest != nullptr) return propose_nearest(rows, best);
    const auto leading = search_.score.leading();
    if (leading.empty()) return false;
    return propose_like(leading, rows, best);
  }

  /// Candidates of the query that orders rows as the score does.
  Result<bool> propose_nearest(const index::RowFilter& rows, index::TopK& best) {
    const std::uint64_t k = first_round();
    if (k > n_allowed_ / kGreatestShare) return false;
    const index::PreparedQuery* const queries[] = {search_.nearest};
    QV_TRY(const auto round, search_round(queries, k, rows));
    if (round.rows.size() < k) return false;
    QV_TRY(offer(round.rows, best));
    // Sparse: rows without a common index are no candidates, but score 0.
    const bool is_sparse = data_.fields[search_.field].schema.kind == FieldKind::kSparse;
    return !is_sparse || best.threshold() > 0;
  }

  /// Candidates of the leading examples, ever more of them until no other row can be a hit.
  Result<bool> propose_like(const std::vector<std::size_t>& leading, const index::RowFilter& rows,
                            index::TopK& best) {
    std::vector<const index::PreparedQuery*> queries;
    for (const std::size_t example : leading) queries.push_back(search_.examples[example]);
    for (std::uint64_t k = first_round();; k *= kGrowth) {
      if (k > n_allowed_ / kGreatestShare / queries.size()) return false;
      QV_TRY(const auto round, search_round(queries, k, rows));
      best = heap(search_.limit);
      QV_TRY(offer(round.rows, best));
      const bool is_full = best.size() == best.k();
      if (is_full && best.threshold() > search_.score.bound(round.similarity_of_others)) {
        return true;
      }
    }
  }

  [[nodiscard]] std::uint64_t first_round() const {
    return n_candidates(std::min<std::uint64_t>(search_.limit, segment_.n_live()));
  }

  struct Round {
    std::vector<std::uint32_t> rows;  ///< ascending, distinct
    /// No other row is more similar to any of the queries.
    float similarity_of_others = -std::numeric_limits<float>::max();
  };

  /// The `k` best rows of each query.
  Result<Round> search_round(std::span<const index::PreparedQuery* const> queries, std::uint64_t k,
                             const index::RowFilter& rows) {
    std::vector<index::TopK> heaps(queries.size(), heap(k));
    std::vector<index::TopK*> results;
    for (auto& one : heaps) results.push_back(&one);
    const index::SearchContext context{
        environment_.cancel, environment_.executor,
        search_.params.indexed_only ? index::Prefer::kIndexed : index::Prefer::kAny};
    QV_TRY(data_.searchers[search_.field]->search_batch(queries, params_, rows, context, results,
                                                        work_));
    Round round;
    for (auto& one : heaps) add_hits(one, k, round);
    std::sort(round.rows.begin(), round.rows.end());
    round.rows.erase(std::unique(round.rows.begin(), round.rows.end()), round.rows.end());
    return round;
  }

  void add_hits(index::TopK& heap, std::uint64_t k, Round& round) const {
    const auto hits = heap.take_sorted();
    for (const auto& hit : hits) round.rows.push_back(hit.row);
    // Sparse: a row without a common index is no hit, and its similarity is 0. Other fields: a list
    // that is too short says nothing about the rows that are not in it.
    const bool is_sparse = data_.fields[search_.field].schema.kind == FieldKind::kSparse;
    float others = is_sparse ? 0.0F : std::numeric_limits<float>::max();
    if (hits.size() == k)
      others = is_sparse ? std::max(0.0F, hits.back().score) : hits.back().score;
    round.similarity_of_others = std::max(round.similarity_of_others, others);
  }

  Result<> offer(std::span<const std::uint32_t> rows, index::TopK& best) {
    ExampleRows scorer(environment_, search_, segment_);
    auto result = scorer.offer(rows, best);
    work_.n_rows_scored += scorer.n_scored();
    return result;
  }

  /// Compares all allowed rows, on several threads if they are many.
  Result<> scan(const index::RowFilter& rows, index::TopK& best) {
    const auto& column = data_.fields[search_.field];
    const std::uint64_t bytes_per_row =
        data_bytes(column) / column.n_present * std::max<std::size_t>(1, search_.examples.size());
    const auto pieces = index::cut_into_pieces(rows.n_rows(), bytes_per_row);
    std::vector<index::TopK> heaps(pieces.size(), heap(search_.limit));
    std::vector<Result<std::uint64_t>> scored(pieces.size());
    const auto scan_piece = [&](std::size_t i) {
      ExampleRows scorer(environment_, search_, segment_);
      const auto done = scorer.offer_allowed(rows, pieces[i].begin, pieces[i].end, heaps[i]);
      scored[i] = done ? Result<std::uint64_t>(scorer.n_scored()) : fail(done.error());
    };
    if (environment_.executor != nullptr && pieces.size() > 1) {
      environment_.executor->parallel_for(pieces.size(), scan_piece);
    } else {
      for (std::size_t i = 0; i < pieces.size(); ++i) scan_piece(i);
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      QV_TRY(const std::uint64_t n, scored[i]);
      work_.n_rows_scored += n;
      for (const auto& hit : heaps[i].take_sorted()) best.offer(hit.score, hit.row);
    }
    return {};
  }

  [[nodiscard]] index::AnyParams present_params(const index::AnyParams& of_wanted) const {
    const auto& schema = data_.fields[search_.field].schema;
    return params_for_present(*data_.indexes[search_.field].type,
                              *wanted_type(schema, environment_.indexes), of_wanted, schema,
                              search_.params);
  }

  const SearchEnvironment& environment_;
  const ExampleSearch& search_;
  const Segment& segment_;
  const SegmentData& data_;
  const index::AnyParams params_;
  std::uint64_t n_allowed_ = 0;
  index::WorkCounters work_;
};

}  // namespace

std::uint64_t n_candidates(std::uint64_t limit) {
  const bool is_huge = limit > std::numeric_limits<std::uint64_t>::max() / kCandidatesPerHit;
  return is_huge ? limit : std::max(limit * kCandidatesPerHit, kLeastCandidates);
}

Result<Candidates> search_by_examples(const SearchEnvironment& environment,
                                      const ExampleSearch& search) {
  const auto& segments = environment.snapshot.segments();
  const auto& schema = environment.config.fields[search.field];
  QV_TRY(const auto params,
         index_params(*wanted_type(schema, environment.indexes), schema, search.params));
  std::vector<Result<Candidates>> parts(segments.size());
  std::vector<index::WorkCounters> work(segments.size());
  const auto search_one = [&](std::size_t i) {
    SegmentByExamples one(environment, search, params, *segments[i]);
    parts[i] = one.run();
    work[i] = one.work();
  };
  if (environment.executor != nullptr && segments.size() > 1) {
    environment.executor->parallel_for(segments.size(), search_one);
  } else {
    for (std::size_t i = 0; i < segments.size(); ++i) search_one(i);
  }
  Candidates best;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (environment.work != nullptr) *environment.work += work[i];
    QV_TRY(const auto& part, parts[i]);
    best.insert(best.end(), part.begin(), part.end());
  }
  keep_best(best, search.limit);
  return best;
}

Result<Candidates> rescore_by_examples(const SearchEnvironment& environment,
                                       const ExampleSearch& search, Candidates candidates) {
  std::map<const Segment*, std::map<std::uint32_t, Candidate>> by_place;
  for (auto& candidate : candidates) {
    const auto& column = candidate.segment->data->fields[search.field];
    if (column.present[candidate.row] == 0) continue;
    by_place[candidate.segment].emplace(candidate.row, std::move(candidate));
  }
  Candidates scored;
  for (auto& [segment, of_row] : by_place) {
    std::vector<std::uint32_t> rows;
    for (const auto& [row, candidate] : of_row) rows.push_back(row);
    std::vector<float> scores(rows.size());
    QV_TRY(ExampleRows(environment, search, *segment).score(rows, scores));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      scored.push_back(std::move(of_row.at(rows[i])));
      scored.back().score = scores[i];
    }
  }
  keep_best(scored, search.limit);
  return scored;
}

}  // namespace quiver::engine
