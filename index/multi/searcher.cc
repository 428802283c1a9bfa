#include "index/multi/searcher.h"

#include <algorithm>
#include <any>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace quiver::index::multi {
namespace {

constexpr double kUsualEffort = 128;
/// Documents between two looks at the clock, and at whether a better one turned up.
constexpr std::size_t kAtATime = 8;
/// Of the vectors' scan, of which second codes leave the candidates.
constexpr double kScanned = 2;
/// Rows whose codes are within so many standard deviations of their error of the k-th best are
/// compared exactly.
constexpr float kDeviations = 3;

}  // namespace

/// One search, prepared.
struct MultiSearcher::Request {
  const Query& query;
  const SearchOptions& options;
  const FilterView& filter;
  std::size_t n_allowed;
  const SearchContext& context;
  TopK& out;
  WorkCounters& work;
};

/// What one thread's searches write to; kept from one to the next.
struct MultiSearcher::Scratch {
  TokenQuery query;
  std::vector<float> vector;
  std::vector<std::uint32_t> rows;  ///< best first, unless all rows are taken
  std::vector<float> scores;        ///< of the rows' vectors, then of their codes
  std::vector<std::uint32_t> order;
  bool is_ordered = false;
};

MultiSearcher::MultiSearcher(FieldColumn column, Parts parts)
    : column_(column),
      flat_(std::move(column)),
      parts_(std::move(parts)),
      tokens_per_row_(static_cast<double>(column_.multi().offsets.span().back()) /
                      std::max(1.0, 1.0 * column_.n_present)) {}

Result<> MultiSearcher::search(const Query& query, const AnyParams& any, const FilterView& filter,
                               const SearchContext& context, TopK& out, WorkCounters& work) const {
  const std::size_t n_allowed = filter.n_rows() == 0 ? 0 : filter.n_allowed();
  if (out.k() == 0 || n_allowed == 0 || query.n_tokens() == 0) return {};
  if (context.prefer == Prefer::kExact) {
    return flat_.search(query, {}, filter, context, out, work);
  }
  static const SearchOptions kDefaults;
  const auto* given = std::any_cast<SearchOptions>(&any);
  const Request request{
      query, given == nullptr ? kDefaults : *given, filter, n_allowed, context, out, work};
  thread_local Scratch scratch;
  QV_TRY(const bool is_found, find(request, scratch));
  if (!is_found) take_all(request, scratch);
  if (request.options.rerank != Rerank::kNone) QV_TRY(compare_codes(request, scratch));
  offer_best(request, scratch);
  return {};
}

std::size_t MultiSearcher::most_candidates(const SearchOptions& options, std::size_t k) const {
  if (options.params.candidates != 0) {
    return std::max<std::size_t>(options.params.candidates, k);
  }
  const double effort = options.params.effort == 0 ? 1 : options.params.effort / kUsualEffort;
  const double usual = parts_.facts.usual_candidates * std::pow(static_cast<double>(k) / 10, 0.7);
  return std::max(2 * k, static_cast<std::size_t>(std::min(1e6, usual * effort)));
}

/// What comparing the codes of a document takes, in bytes of codes of vectors scanned meanwhile: a
/// query of up to 16 tokens reads them at some 10 GB/s, a scan its own at 35.
double MultiSearcher::row_bytes(const Query& query) const {
  constexpr double kSlower = 3.5;
  const double panels = std::ceil(query.n_tokens() / 16.0);
  return tokens_per_row_ * static_cast<double>(parts_.tokens.codec().token_bytes()) * kSlower *
         panels;
}

/// Candidates by the documents' vectors, best first. False if looking at all allowed rows is
/// cheaper, or the vectors do not tell the best of them.
Result<bool> MultiSearcher::find(const Request& request, Scratch& scratch) const {
  const auto& candidates = parts_.candidates;
  const std::size_t n = most_candidates(request.options, request.out.k());
  const double selectivity = candidates.selectivity(request.n_allowed);
  ivf::SearchParams params;
  params.rerank = static_cast<std::uint32_t>(kScanned * static_cast<double>(n));
  params = candidates.settled(params, n);
  const double all_bytes = static_cast<double>(request.n_allowed) * row_bytes(request.query);
  const double some_bytes = static_cast<double>(n) * row_bytes(request.query);
  if (n >= request.n_allowed ||
      all_bytes < candidates.find_bytes(selectivity, params) + some_bytes) {
    return false;
  }
  scratch.vector.resize(parts_.encoder->dim());
  parts_.encoder->encode_query({request.query.values().data(), request.query.n_tokens()},
                               scratch.vector.data());
  QV_TRY(const auto found, candidates.find({.vector = scratch.vector,
                                            .k = n,
                                            .params = params,
                                            .filter = request.filter,
                                            .n_allowed = request.n_allowed,
                                            .exact_bytes = all_bytes,
                                            .cancel = request.context.cancel,
                                            .work = request.work}));
  if (!found.is_telling || found.rows.size() < request.out.k()) return false;
  scratch.order.resize(found.rows.size());
  std::iota(scratch.order.begin(), scratch.order.end(), 0U);
  std::sort(scratch.order.begin(), scratch.order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (found.scores[a] != found.scores[b]) return found.scores[a] > found.scores[b];
    return found.rows[a] < found.rows[b];
  });
  scratch.order.resize(std::min(n, scratch.order.size()));
  scratch.rows.clear();
  scratch.scores.clear();
  for (const std::uint32_t i : scratch.order) {
    scratch.rows.push_back(found.rows[i]);
    scratch.scores.push_back(found.scores[i]);
  }
  scratch.is_ordered = true;
  return true;
}

void MultiSearcher::take_all(const Request& request, Scratch& scratch) const {
  scratch.rows.clear();
  for (std::uint32_t row = 0; row < request.filter.n_rows(); ++row) {
    if (request.filter.allows(row) && column_.present[row] != 0) scratch.rows.push_back(row);
  }
  scratch.scores.assign(scratch.rows.size(), 0);
  scratch.is_ordered = false;
}

/// Scores rows by their codes, in their order. If that is the order of their vectors' scores, it
/// ends when many in a row were none of the best k.
Result<> MultiSearcher::compare_codes(const Request& request, Scratch& scratch) const {
  const std::size_t k = request.out.k();
  const auto& params = request.options.params;
  const std::size_t patience =
      params.patience != 0 ? params.patience : most_candidates(request.options, k) / 2;
  const bool may_stop = scratch.is_ordered && params.candidates == 0;
  scratch.query.set(parts_.tokens.codec(), request.query.values(),
                    static_cast<float>(params.carve));
  TopK best(k);
  std::size_t n_failed = 0;
  std::size_t n = 0;
  const std::span<const std::uint32_t> rows = scratch.rows;
  while (n < rows.size() && !(may_stop && n_failed >= patience)) {
    QV_TRY(request.context.cancel.check());
    const std::size_t count = std::min(kAtATime, rows.size() - n);
    QV_TRY(parts_.tokens.score(scratch.query, rows.subspan(n, count), request.context.cancel,
                               scratch.scores.data() + n));
    for (std::size_t i = n; i < n + count; ++i) {
      const bool enters = scratch.scores[i] > best.threshold();
      n_failed = enters ? 0 : n_failed + 1;
      best.offer(scratch.scores[i], rows[i]);
    }
    n += count;
  }
  scratch.rows.resize(n);
  scratch.scores.resize(n);
  request.work.n_codes_scored += n;
  request.work.n_bytes +=
      static_cast<std::uint64_t>(static_cast<double>(n) * tokens_per_row_ *
                                 static_cast<double>(parts_.tokens.codec().token_bytes()));
  return {};
}

/// Exact scores of the k best so far and, unless what is known of them is to decide, of those that
/// may be as good.
void MultiSearcher::offer_best(const Request& request, Scratch& scratch) const {
  const std::size_t k = request.out.k();
  auto& rows = scratch.rows;
  const bool by_vectors = request.options.rerank == Rerank::kNone && scratch.is_ordered;
  if (by_vectors) rows.resize(std::min(k, rows.size()));
  if (!by_vectors && rows.size() > k && request.options.rerank != Rerank::kNone) {
    auto& ordered = scratch.vector;
    ordered.assign(scratch.scores.begin(), scratch.scores.end());
    const auto kth = ordered.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(ordered.begin(), kth, ordered.end(), std::greater<>());
    const bool is_full = request.options.rerank == Rerank::kFull;
    std::size_t n = 0;
    const float least = *kth - (is_full ? kDeviations * scratch.query.deviation() : 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (scratch.scores[i] >= least) rows[n++] = rows[i];
    }
    rows.resize(n);
  }
  offer_exactly(request.query, column_, rows, request.out);
  request.work.n_rows_scored += rows.size();
  request.work.n_bytes +=
      static_cast<std::uint64_t>(static_cast<double>(rows.size()) * tokens_per_row_ *
                                 static_cast<double>(column_.multi().tokens.stride()));
}

std::uint64_t MultiSearcher::bytes_per_search() const {
  const double tokens = parts_.facts.usual_candidates * tokens_per_row_ *
                        static_cast<double>(parts_.tokens.codec().token_bytes());
  return parts_.candidates.bytes_per_search() + static_cast<std::uint64_t>(tokens);
}

}  // namespace quiver::index::multi
