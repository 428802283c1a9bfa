#include "index/multi/searcher.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "index/cost.h"

namespace quiver::index::multi {
namespace {

/// Documents scored between two polls of `cancel` and checks of `patience`.
constexpr std::size_t kDocumentsPerStep = 8;
/// Rows kept by the scan per row of the pool: the scores below the pool show whether vectors tell
/// rows apart, and a row may be in two lists.
constexpr double kScannedRowsPerPoolRow = 2;

void describe_probe(const ProbeFacts& probed, Facts& facts) {
  if (probed.n_documents == 0) return;
  facts.emplace_back("probe_documents", std::int64_t{probed.n_documents});
  facts.emplace_back("probe_queries", std::int64_t{probed.n_queries});
  facts.emplace_back("probe_queries_are",
                     std::string(probed.are_recorded != 0 ? "recorded" : "parts of documents"));
  for (const StageKind kind : {StageKind::kMean, StageKind::kFde, StageKind::kFeatures}) {
    if ((probed.left_out >> static_cast<std::uint32_t>(kind) & 1) == 0) continue;
    facts.emplace_back("probe_left_out", std::string(to_string(kind)));
  }
}

}  // namespace

/// One prepared search.
struct MultiSearcher::Request {
  const PreparedQuery& query;
  const MultiSearchOptions& options;
  const RowFilter& filter;
  std::size_t n_allowed;
  Limits limits;
  const SearchContext& context;
  TopK& out;
  WorkCounters& work;
};

/// Memory of one thread's searches, reused.
struct MultiSearcher::Scratch {
  TokenQuery query;
  std::vector<float> vector;
  std::vector<std::uint32_t> rows;  ///< best first if `is_ordered`
  std::vector<float>
      scores;  ///< score of each row: by vectors, then by signs; after `keep_best` by codes
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> ordered;
  std::vector<float> ordered_scores;
  bool is_ordered = false;
};

MultiSearcher::MultiSearcher(FieldColumn column, MultiParts parts)
    : column_(column),
      flat_(std::move(column)),
      parts_(std::move(parts)),
      tokens_per_row_(TokenSource(column_).tokens_per_row()) {}

Result<> MultiSearcher::search(const PreparedQuery& query, const AnyParams& any,
                               const RowFilter& filter, const SearchContext& context, TopK& out,
                               WorkCounters& work) const {
  const std::size_t n_allowed = filter.n_rows() == 0 ? 0 : filter.n_allowed();
  if (out.k() == 0 || n_allowed == 0 || query.n_tokens() == 0) return {};
  if (context.prefer == Prefer::kExact) {
    return flat_.search(query, {}, filter, context, out, work);
  }
  QV_TRY(const MultiSearchOptions* given, any.as<MultiSearchOptions>());
  const MultiSearchOptions& options = *given;
  thread_local Scratch scratch;
  scratch.query.set(parts_.tokens.codec(), query.values(),
                    static_cast<float>(options.params.carve));
  if (!std::isfinite(scratch.query.deviation())) {  // lengths overflow codes
    return flat_.search(query, {}, filter, context, out, work);
  }
  const Request request{query,   options, filter, n_allowed, limits_of(options, out.k()),
                        context, out,     work};
  QV_TRY(const bool is_found, find(request, scratch));
  if (options.rerank == Rerank::kNone) {
    if (!is_found) return flat_.search(query, {}, filter, context, out, work);
    keep_best(out.k(), scratch);
    return offer_exact_scores(request, scratch.rows);
  }
  if (!is_found) take_all(request, scratch);
  scratch.is_ordered = is_found;
  std::size_t n_candidates = request.limits.candidates;
  if (parts_.signs && scratch.rows.size() > n_candidates) {
    QV_TRY(compare_signs(request, scratch));
    if (options.params.candidates == 0) {
      n_candidates = std::max(n_candidates, n_near(request, scratch));
    }
  }
  if (scratch.is_ordered) keep_best(n_candidates, scratch);
  QV_TRY(compare_codes(request, scratch));
  return offer_exact_scores(request, scratch.rows);
}

Result<> MultiSearcher::search_batch(std::span<const PreparedQuery* const> queries,
                                     const AnyParams& params, const RowFilter& filter,
                                     const SearchContext& context, std::span<TopK* const> results,
                                     WorkCounters& work) const {
  if (context.prefer == Prefer::kExact) {
    return flat_.search_batch(queries, {}, filter, context, results, work);
  }
  return Searcher::search_batch(queries, params, filter, context, results, work);
}

Result<> MultiSearcher::search_filtered(std::span<const FilteredQuery> queries,
                                        const AnyParams& params, const SearchContext& context,
                                        WorkCounters& work) const {
  if (context.prefer == Prefer::kExact) {
    return flat_.search_filtered(queries, {}, context, work);
  }
  return Searcher::search_filtered(queries, params, context, work);
}

/// Numbers of candidates and of the pool, which is proportional to them.
MultiSearcher::Limits MultiSearcher::limits_of(const MultiSearchOptions& options,
                                               std::size_t k) const {
  const double effort = options.params.effort == 0 ? 1 : options.params.effort / cost::kUsualEffort;
  const double scale = effort * std::pow(static_cast<double>(k) / 10, 0.7);
  const auto limited = [](double n) { return static_cast<std::size_t>(std::min(1e6, n)); };
  const double usual = parts_.facts.usual_candidates;
  const double pool_of_one = parts_.facts.usual_pool / usual;
  Limits limits;
  limits.candidates = options.params.candidates != 0
                          ? std::max<std::size_t>(options.params.candidates, k)
                          : std::max(2 * k, limited(usual * scale));
  limits.pool = options.params.pool != 0
                    ? options.params.pool
                    : limited(static_cast<double>(limits.candidates) * pool_of_one);
  limits.pool = std::max(limits.pool, limits.candidates);
  return limits;
}

/// Time to compare a document of the pool, in bytes of codes (index/cost.h).
double MultiSearcher::row_bytes(const PreparedQuery& query) const {
  const double panels = std::ceil(query.n_tokens() / 16.0);
  const double token_bytes =
      parts_.signs
          ? cost::kSignByteFactor * static_cast<double>(parts_.signs->token_bytes())
          : cost::kTokenCodeByteFactor * static_cast<double>(parts_.tokens.codec().token_bytes());
  return tokens_per_row_ * token_bytes * panels;
}

/// Finds the pool by the documents' vectors. False if comparing all allowed rows is cheaper, or if
/// vectors cannot tell the best.
Result<bool> MultiSearcher::find(const Request& request, Scratch& scratch) const {
  const auto& candidates = parts_.candidates;
  const std::size_t n = request.limits.pool;
  const double selectivity = candidates.selectivity(request.n_allowed);
  dense::ListsSearchParams params;
  params.rerank = static_cast<std::uint32_t>(kScannedRowsPerPoolRow * static_cast<double>(n));
  params = candidates.settled(params, n);
  const double all_bytes = static_cast<double>(request.n_allowed) * row_bytes(request.query);
  const double some_bytes = static_cast<double>(n) * row_bytes(request.query);
  const double find_bytes = candidates.find_bytes(selectivity, params) + some_bytes;
  const bool takes_all = n >= request.n_allowed || all_bytes < find_bytes;
  if (auto* ways = request.context.ways) {
    ways->push_back({"token codes of all", cost::us_of(all_bytes), takes_all});
    ways->push_back({"lists of documents", cost::us_of(find_bytes), !takes_all});
  }
  if (takes_all) return false;
  scratch.vector.resize(parts_.encoder->dim());
  parts_.encoder->encode_query({request.query.values().data(), request.query.n_tokens()},
                               scratch.vector.data());
  QV_TRY(const auto found, candidates.find({.vector = scratch.vector,
                                            .k = n,
                                            .params = params,
                                            .filter = request.filter,
                                            .n_allowed = request.n_allowed,
                                            .cancel = request.context.cancel,
                                            .work = request.work}));
  if (!found.is_conclusive || found.rows.size() < request.out.k()) return false;
  scratch.rows.assign(found.rows.begin(), found.rows.end());
  scratch.scores.assign(found.scores.begin(), found.scores.end());
  CodeHits hits{scratch.scores.data(), scratch.rows.data(), scratch.rows.size(),
                scratch.rows.size()};
  kernels().codes.keep_best(hits, n);
  scratch.rows.resize(hits.n);
  scratch.scores.resize(hits.n);
  return true;
}

void MultiSearcher::take_all(const Request& request, Scratch& scratch) {
  scratch.rows.clear();
  request.filter.for_each(0, [&](std::uint32_t row) { scratch.rows.push_back(row); });
}

/// Keeps the `n` best rows by score, best first.
void MultiSearcher::keep_best(std::size_t n, Scratch& scratch) {
  auto& order = scratch.order;
  order.resize(scratch.rows.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto is_better = [&](std::uint32_t a, std::uint32_t b) {
    if (scratch.scores[a] != scratch.scores[b]) return scratch.scores[a] > scratch.scores[b];
    return scratch.rows[a] < scratch.rows[b];
  };
  n = std::min(n, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                    is_better);
  scratch.ordered.clear();
  for (std::size_t i = 0; i < n; ++i) scratch.ordered.push_back(scratch.rows[order[i]]);
  std::swap(scratch.rows, scratch.ordered);
}

Result<> MultiSearcher::compare_signs(const Request& request, Scratch& scratch) const {
  scratch.scores.resize(scratch.rows.size());
  QV_TRY(parts_.signs->score(scratch.query, scratch.rows, request.context.cancel,
                             scratch.scores.data()));
  scratch.is_ordered = true;
  const auto n = static_cast<double>(scratch.rows.size());
  request.work.n_codes_scored += scratch.rows.size();
  request.work.n_bytes += static_cast<std::uint64_t>(
      n * tokens_per_row_ * static_cast<double>(parts_.signs->token_bytes()));
  return {};
}

/// Number of rows that signs cannot tell from the k-th best. Many, if no remaining row is near the
/// query.
std::size_t MultiSearcher::n_near(const Request& request, Scratch& scratch) {
  auto& scores = scratch.ordered_scores;
  scores.assign(scratch.scores.begin(), scratch.scores.end());
  const auto kth =
      scores.begin() + static_cast<std::ptrdiff_t>(std::min(request.out.k(), scores.size()) - 1);
  std::nth_element(scores.begin(), kth, scores.end(), std::greater<>());
  const float least = *kth - cost::kSignDeviations * scratch.query.sign_deviation();
  return static_cast<std::size_t>(std::count_if(scratch.scores.begin(), scratch.scores.end(),
                                                [&](float score) { return score >= least; }));
}

/// Scores rows by token codes, in order. If an earlier stage ordered them, ends after `patience`
/// consecutive rows outside the best k. Keeps the best k and, for `full`, the rows that may be as
/// good given the error of codes.
Result<> MultiSearcher::compare_codes(const Request& request, Scratch& scratch) const {
  const auto& params = request.options.params;
  const std::size_t patience = params.patience != 0
                                   ? params.patience
                                   : std::max(request.limits.candidates, scratch.rows.size()) / 2;
  const bool may_stop = scratch.is_ordered && (params.candidates == 0 || params.patience != 0);
  auto& rows = scratch.rows;
  scratch.scores.resize(rows.size());
  TopK best(request.out.k());
  std::size_t n_failed = 0;
  std::size_t n = 0;
  while (n < rows.size() && !(may_stop && n_failed >= patience)) {
    const std::size_t count = std::min(kDocumentsPerStep, rows.size() - n);
    QV_TRY(parts_.tokens.score(scratch.query, std::span(rows).subspan(n, count),
                               request.context.cancel, scratch.scores.data() + n));
    for (std::size_t i = n; i < n + count; ++i) {
      const bool enters = scratch.scores[i] > best.threshold();
      n_failed = enters ? 0 : n_failed + 1;
      best.offer(scratch.scores[i], rows[i]);
    }
    n += count;
  }
  request.work.n_codes_scored += n;
  request.work.n_bytes +=
      static_cast<std::uint64_t>(static_cast<double>(n) * tokens_per_row_ *
                                 static_cast<double>(parts_.tokens.codec().token_bytes()));
  const bool is_full = request.options.rerank == Rerank::kFull;
  const float least =
      best.threshold() - (is_full ? cost::kTokenCodeDeviations * scratch.query.deviation() : 0);
  std::size_t n_kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (scratch.scores[i] >= least) rows[n_kept++] = rows[i];
  }
  rows.resize(n_kept);
  return {};
}

Result<> MultiSearcher::offer_exact_scores(const Request& request,
                                           std::span<const std::uint32_t> rows) const {
  QV_TRY(offer_exactly(request.query, column_, rows, request.context.cancel, request.out));
  request.work.n_rows_scored += rows.size();
  request.work.n_bytes +=
      static_cast<std::uint64_t>(static_cast<double>(rows.size()) * tokens_per_row_ *
                                 static_cast<double>(column_.multi().tokens.stride()));
  return {};
}

std::uint64_t MultiSearcher::bytes_per_search() const {
  double bytes =
      parts_.facts.usual_candidates * static_cast<double>(parts_.tokens.codec().token_bytes());
  if (parts_.signs) {
    bytes += parts_.facts.usual_pool * static_cast<double>(parts_.signs->token_bytes());
  }
  return parts_.candidates.bytes_per_search() + static_cast<std::uint64_t>(bytes * tokens_per_row_);
}

Description MultiSearcher::describe() const {
  const StageFacts& stage = parts_.facts.stage;
  Description description;
  auto& facts = description.facts;
  facts.emplace_back("stage", std::string(to_string(stage.kind)));
  facts.emplace_back("vector_dim", std::int64_t{stage.dim});
  if (stage.kind == StageKind::kFde) {
    facts.emplace_back("repetitions", std::int64_t{stage.repetitions});
    facts.emplace_back("planes", std::int64_t{stage.planes});
    facts.emplace_back("projection", std::int64_t{stage.projection});
    facts.emplace_back("final_dim", std::int64_t{stage.final_dim});
  }
  if (stage.kind == StageKind::kFeatures) {
    facts.emplace_back("features", std::int64_t{stage.n_features});
  }
  facts.emplace_back("usual_pool", std::int64_t{parts_.facts.usual_pool});
  facts.emplace_back("usual_candidates", std::int64_t{parts_.facts.usual_candidates});
  facts.emplace_back("tokens_per_row", tokens_per_row_);
  facts.emplace_back("token_bits", std::int64_t{parts_.tokens.codec().facts().bits});
  for (auto& fact : parts_.candidates.describe().facts) facts.push_back(std::move(fact));
  if (parts_.probe.size() == 0) return description;
  describe_probe(parts_.probed, facts);
  description.table = "probe";
  description.columns = {"stage", "vector_dim", "candidates", "recall"};
  for (const ProbeRow& row : parts_.probe.span()) {
    const auto what = row.kind == kBySigns ? "signs" : to_string(row.kind);
    description.rows.push_back({std::string(what), std::int64_t{row.dim},
                                std::int64_t{row.n_candidates}, double{row.recall}});
  }
  return description;
}

}  // namespace quiver::index::multi
