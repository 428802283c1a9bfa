#include "index/dense/lists/search/candidate_search.h"

#include <algorithm>
#include <cmath>

#include "base/prefetch.h"
#include "index/dense/lists/search/candidate_search_impl.h"

namespace quiver::index::dense {
namespace {

/// Depths are measured from the estimate at rank kDepthRowsPerHit * k, as in calibration.cc.
constexpr std::size_t kDepthRowsPerHit = 10;
/// Default of `stop`. Queries need more than rows do, for which 1 is enough. It took 10 to 15 % off
/// a search of arxiv-100k from recall .97 on.
constexpr double kDefaultStop = 1.4;
/// Codes within a gap grow by this power of the gap. On arxiv-100k 2,630 became 9,930 when the
/// effort grew from 60 to 192, and the gap by 1.6 (docs/decisions/0018).
constexpr double kCodesExponent = 3;
/// Lists scanned between two looks at the stop, beyond the gap.
constexpr std::size_t kListsPerLook = 4;
/// Factor on the rows that are scored exactly, at most.
constexpr std::size_t kMoreUnderFilters = 8;

}  // namespace

CandidateSearch::CandidateSearch(CandidateCodes codes, Similarity similarity, std::uint32_t n_rows,
                                 std::uint32_t n_present)
    : lists_(std::move(codes.lists)),
      second_(std::move(codes.second)),
      signs_(std::move(codes.signs)),
      similarity_(similarity),
      n_rows_(n_rows),
      n_present_(n_present),
      all_rows_(RowFilter::all(n_rows)) {}

ListsSearchParams CandidateSearch::settled(ListsSearchParams params, std::size_t k) const {
  const auto wanted = static_cast<double>(std::max<std::size_t>(k, 10));
  double effort = params.effort == 0 ? 1 : params.effort / cost::kUsualEffort;
  if (transform().reduction()) effort *= cost::kEffortOfReduced;
  // The k-th neighbour lies farther away than the tenth.
  if (params.gap == 0) params.gap = lists_.facts().usual_gap;
  params.gap *= std::pow(effort, 0.4) * std::pow(wanted / 10, 0.1);
  params.stop = (params.stop == 0 ? kDefaultStop : params.stop) * std::pow(effort, 0.4);
  if (params.rerank == 0) {
    params.rerank = static_cast<std::uint32_t>(
        std::min(1e6, (50 + 5 * static_cast<double>(k)) * std::sqrt(effort)));
  }
  params.rerank = static_cast<std::uint32_t>(std::min(1e6, params.rerank * params.oversampling));
  params.rerank = static_cast<std::uint32_t>(std::max<std::size_t>(params.rerank, least_codes(k)));
  return params;
}

/// Codes among which at least k rows are: both codes of a row in two lists may be found.
std::size_t CandidateSearch::least_codes(std::size_t k) const {
  return lists_.facts().is_spilled != 0 ? 2 * k : k;
}

double CandidateSearch::selectivity(std::size_t n_allowed) const {
  return std::min(1.0, static_cast<double>(n_allowed) / std::max(1.0, 1.0 * n_present_));
}

/// With a filter, more lists are scanned (kFilteredListsExponent), chosen among all centroids.
/// `params`: settled, so that the gap has grown with effort and hits.
double CandidateSearch::find_bytes(double selectivity, const ListsSearchParams& params) const {
  const auto usual = static_cast<double>(bytes_per_search());
  const double rerank = params.rerank * cost::kRowSeekBytes;
  if (selectivity >= 1) return usual + rerank;
  const float usual_gap = lists_.facts().usual_gap;
  const bool has_gap = params.nprobe == 0 && usual_gap > 0;
  // Never less than of a default search: little effort is no reason to prefer the less sure way.
  const double wider =
      has_gap ? std::pow(std::max(1.0, params.gap / usual_gap), kCodesExponent) : 1;
  const double lists =
      std::min(static_cast<double>(lists_.code_bytes()),
               usual * wider * std::pow(selectivity, cost::kFilteredListsExponent));
  const auto centroids = static_cast<double>(lists_.n_lists() * lists_.centroid_stride());
  return lists + centroids + rerank;
}

/// As many codes as lie within the usual gap, but no less than the share that a default search
/// scanned of the measured sets: of small clusters far apart the gap tells too little. Blocks of
/// lists are padded, so the share of codes is a little low.
std::uint64_t CandidateSearch::bytes_per_search() const {
  if (lists_.n_lists() == 1) return lists_.code_bytes();
  const double n_rows = std::max(1.0, static_cast<double>(n_present_));
  const double least = cost::kScannedShareTimesRoot / std::sqrt(n_rows);
  const double counted = static_cast<double>(lists_.facts().usual_codes) /
                         std::max(1.0, static_cast<double>(lists_.rows().size()));
  const double share = std::min(1.0, std::max(least, counted));
  return static_cast<std::uint64_t>(static_cast<double>(lists_.code_bytes()) * share);
}

Result<ListCandidates> CandidateSearch::find(const CandidateRequest& request) const {
  Scratch& scratch = own_scratch();
  const RotatedQuery query = rotate(request.vector, scratch.lines);
  if (!scans_as_all(selectivity(request.n_allowed))) return find_filtered(request, query, scratch);
  const CandidateRequest wider = of_all_rows(request);
  CodeScan scan(wider.params.rerank, scratch.scan);
  QV_TRY(scan_as_all({wider, query, 1, scratch}, scan));
  return settle(request, query, scan.best(), scratch);
}

/// Makes candidates of the best codes of all rows.
Result<ListCandidates> CandidateSearch::settle(const CandidateRequest& asked,
                                               const RotatedQuery& query, const CodeHits& best,
                                               Scratch& scratch) const {
  collect_rows(best, scratch);
  if (!drop_denied(asked, best, scratch)) return find_filtered(asked, query, scratch);
  if (second_) refine({asked, query, 1, scratch});
  return ListCandidates{scratch.rows, std::span(scratch.scores).first(scratch.rows.size()), true};
}

RotatedQuery CandidateSearch::rotate(std::span<const float> vector, QueryLines& lines) const {
  const std::uint32_t dim = lists_.facts().padded_dim;
  lines.values.resize(dim / 16);
  lines.tables.resize(dim / 16);
  auto* values = reinterpret_cast<float*>(lines.values.data());
  const float lost = transform().apply_to_query(vector.data(), values);
  const float factor = stretch(similarity_, lists_.facts().length, {values, dim});
  auto* tables = reinterpret_cast<std::uint8_t*>(lines.tables.data());
  return {{values, dim}, kernels().codes.prepare(values, dim / 32, tables), lost * factor * factor};
}

/// The lists that an unfiltered search scans, nearest first.
std::span<const Probe> CandidateSearch::route(const Search& search,
                                              const ListsSearchParams& params) const {
  const ListRouter router(lists_, similarity_);
  const std::size_t n_lists = lists_.n_lists();
  auto& scratch = search.scratch;
  if (params.nprobe != 0) {
    return router.nearest(search.query, std::min<std::size_t>(params.nprobe, n_lists),
                          scratch.centroids, scratch.route);
  }
  return router.within(search.query, static_cast<float>(params.gap), n_lists, scratch.centroids,
                       scratch.route);
}

Result<> CandidateSearch::scan_as_all(const Search& search, CodeScan& scan) const {
  const auto probes = route(search, search.request.params);
  const auto first = probes.first(std::min(probes.size(), kListsBeforeStop));
  QV_TRY(scan_near_lists(search, first, scan));
  const auto rest = probes.subspan(first.size());
  if (!rest.empty()) {
    QV_TRY(scan_near_lists(search, near(search, probes.front(), rest, scan), scan));
  }
  if (probes.empty()) return {};
  return scan_farther(search, probes.front(), probes.size(), probes.back().key, scan);
}

/// If the lists within the gap have few rows, others may have better ones: scans on, by falling
/// key, until `stop` ends it. `n_near`: lists so far, of which `first` is the nearest and `end` the
/// key of the farthest.
Result<> CandidateSearch::scan_farther(const Search& search, Probe first, std::size_t n_near,
                                       float end, CodeScan& scan) const {
  const ListRouter router(lists_, similarity_);
  const std::size_t n_lists = lists_.n_lists();
  const std::size_t n_enough = rows_of_depth(search);
  const std::size_t codes_per_list = 1 + lists_.rows().size() / n_lists;
  if (scan.n_kept() >= n_enough) return {};
  while (n_near < n_lists) {
    n_near = std::min(n_lists, 2 * n_near + n_enough / codes_per_list);
    const auto probes =
        router.nearest(search.query, n_near, search.scratch.centroids, search.scratch.route);
    const auto farther = below(probes, end);
    for (std::size_t i = 0; i < farther.size(); i += kListsPerLook) {
      const float least = least_key(search, first, scan);
      const auto next = farther.subspan(i, std::min(kListsPerLook, farther.size() - i));
      const auto near = next.first(next.size() - below(next, least).size());
      QV_TRY(scan_lists(search, near, scan));
      if (near.size() < next.size()) return {};
    }
    if (!farther.empty()) end = farther.back().key;
  }
  return {};
}

/// Rank of the estimate from which depths are measured; without depths, codes that have k rows.
std::size_t CandidateSearch::rows_of_depth(const Search& search) const {
  const auto& request = search.request;
  if (!lists_.depths() || request.params.nprobe != 0) return least_codes(request.k);
  return std::min<std::size_t>(kDepthRowsPerHit * request.k, request.params.rerank);
}

/// Lists with keys below this are not worth scanning; minus infinity while too few rows are known.
float CandidateSearch::least_key(const Search& search, const Probe& first,
                                 const CodeScan& scan) const {
  const std::size_t n_rows = rows_of_depth(search);
  if (scan.n_kept() < n_rows) return -kWholeReach;
  const auto& params = search.request.params;
  const auto& depths = lists_.depths();
  if (!depths || params.nprobe != 0) return kWholeReach;
  const double depth = depths->middle + params.stop * (depths->usual - depths->middle);
  const float unit = gap_unit(similarity_, first.key, lists_.facts());
  return scan.kth(n_rows) - static_cast<float>(depth) * unit;
}

/// The lists of `probes` worth scanning after the first ones (`stop` in params.h). `first`: the
/// nearest list.
std::span<const Probe> CandidateSearch::near(const Search& search, const Probe& first,
                                             std::span<const Probe> probes,
                                             const CodeScan& scan) const {
  if (!lists_.depths() || search.request.params.nprobe != 0) return probes;
  const float least = least_key(search, first, scan);
  const auto end = std::partition_point(
      probes.begin(), probes.end(), [least](const Probe& probe) { return !(probe.key < least); });
  return {probes.begin(), end};
}

/// Leaves the rows of `hits` in `scratch.rows`, each once even if two lists held it.
void CandidateSearch::collect_rows(const CodeHits& hits, Scratch& scratch) const {
  auto& rows = scratch.rows;
  auto& seen = scratch.seen;
  rows.clear();
  scratch.scores.clear();
  if (seen.size() * 64 < n_rows_) seen.resize(n_rows_ / 64 + 1);
  for (std::size_t i = 0; i < hits.n; ++i) prefetch_line(&lists_.rows()[hits.positions[i]]);
  for (std::size_t i = 0; i < hits.n; ++i) {
    const std::uint32_t row = lists_.rows()[hits.positions[i]];
    if (row >= n_rows_) continue;  // the file is damaged while it is in use
    const std::uint64_t bit = std::uint64_t{1} << (row % 64);
    if ((seen[row / 64] & bit) != 0) continue;
    seen[row / 64] |= bit;
    rows.push_back(row);
    scratch.scores.push_back(hits.scores[i]);
    if (second_) second_->prefetch_factors(row);
  }
  for (const std::uint32_t row : rows) seen[row / 64] = 0;
}

/// Rows that may be scored exactly. A higher `rerank` allows more if a reduction lost something.
std::size_t CandidateSearch::n_rescored(const CandidateRequest& request) const {
  const std::size_t k = request.k;
  if (transform().reduction()) {
    return std::max<std::size_t>(cost::n_rescored_by_coarse_codes(k), request.params.rerank / 3);
  }
  const bool are_halves = second_->n_bits() == ByteWriter::kHalfByteBits;
  return are_halves ? cost::n_rescored_by_coarse_codes(k) : cost::n_rescored(k);
}

/// Reduces `scratch.rows` to the best by second codes, with spares for their errors. Under a strict
/// filter many rows may be about equally far, so more of them are spared. So are all that these
/// codes do not tell from the k-th best, as in small clumps far from the origin.
/// `products`: of all rows with the query, which is then in bytes already; nullptr: unknown.
void CandidateSearch::refine(const Search& search, const std::int32_t* products) const {
  auto& scratch = search.scratch;
  const std::size_t usual = n_rescored(search.request);
  const std::size_t want = search.selectivity < 1 ? kMoreUnderFilters * usual : usual;
  auto& rows = scratch.rows;
  if (rows.size() <= usual) return;
  search.request.work.n_codes_scored += rows.size();
  if (products != nullptr) {
    second_->score_products(scratch.byte_query, rows, products, scratch.scores.data());
  } else {
    scratch.byte_query.set(search.query.values, search.query.lost);
    second_->score(scratch.byte_query, rows, scratch.scores.data());
    search.request.work.n_bytes += rows.size() * second_->row_bytes();
  }
  CodeHits hits{scratch.scores.data(), rows.data(), rows.size(), rows.size()};
  const std::span<const float> scores(hits.scores, hits.n);
  const float kth = kth_greatest(scores, search.request.k, scratch.scan);
  std::size_t n_best = want;
  if (!transform().reduction() && second_->n_bits() != ByteWriter::kHalfByteBits) {
    // Any row tells how much they err; the same one in whatever order lists were scanned.
    const float error = second_->deviation(scratch.byte_query, *std::ranges::min_element(rows));
    const float equal = kth - cost::kEqualSecondCodeDeviations * error;
    const auto n_equal = std::ranges::count_if(scores, [&](float score) { return score >= equal; });
    n_best = std::max(want, std::min<std::size_t>(n_equal, search.request.params.rerank));
  }
  if (hits.n > n_best) kernels().codes.keep_best(hits, n_best);
  drop_hopeless(search, kth, hits);
  rows.resize(hits.n);
}

/// Drops rows whose estimates are farther below the k-th best than second codes err.
void CandidateSearch::drop_hopeless(const Search& search, float kth, CodeHits& hits) const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < hits.n; ++i) {
    const float error = cost::kSecondCodeDeviations *
                        second_->deviation(search.scratch.byte_query, hits.positions[i]);
    const float score = hits.scores[i];
    hits.positions[n] = hits.positions[i];
    hits.scores[n] = score;
    n += score >= kth - error ? 1 : 0;
  }
  hits.n = n;
}

Description CandidateSearch::describe() const {
  const PartitionFacts& facts = lists_.facts();
  Description description;
  description.facts = {{"lists", std::int64_t{facts.n_lists}},
                       {"spilled", facts.is_spilled != 0},
                       {"bits", std::int64_t{facts.n_bits}},
                       {"refine_bits", std::int64_t{facts.refine_bits}},
                       {"dimensions", std::int64_t{facts.padded_dim}},
                       {"signs", has_signs()},
                       {"usual_codes", std::int64_t{facts.usual_codes}}};
  return description;
}

}  // namespace quiver::index::dense
