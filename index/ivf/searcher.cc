#include "index/ivf/searcher.h"

#include <algorithm>
#include <any>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace quiver::index::ivf {
namespace {

/// `effort` that leaves `gap` and `rerank` as they are.
constexpr double kUsualEffort = 128;

/// Lists that are scanned between two looks at the clock.
constexpr std::size_t kBetweenPolls = 32;
/// The k-th best row is looked up again after one more list for each so many.
constexpr std::size_t kListsPerLook = 8;
/// Of a filter that allows more than this share, found rows are tested, otherwise rows that are
/// scanned.
constexpr double kMost = 0.5;
/// What finding a row in memory takes, in bytes of codes.
constexpr double kSeekBytes = 1000;
/// No list is out of reach.
constexpr float kWholeReach = std::numeric_limits<float>::infinity();

/// A list that is scanned.
void count(const CodeBlocks& blocks, WorkCounters& work) {
  ++work.n_lists;
  work.n_blocks += blocks.n;
  work.n_codes_scored += blocks.n * CodeBlocks::kRows;
  work.n_bytes += blocks.n * blocks.block_bytes();
}

struct alignas(64) Line {
  std::byte bytes[64];
};

/// `params` with everything that depends on k and `effort` in place.
SearchParams settled(SearchParams params, std::size_t k, float usual_gap) {
  const auto wanted = static_cast<double>(std::max<std::size_t>(k, 10));
  const double effort = params.effort == 0 ? 1 : params.effort / kUsualEffort;
  // The k-th neighbour lies farther off than the tenth.
  if (params.gap == 0) params.gap = usual_gap;
  params.gap *= std::pow(effort, 0.4) * std::pow(wanted / 10, 0.1);
  if (params.rerank == 0) {
    params.rerank = static_cast<std::uint32_t>(
        std::min(1e6, (50 + 5 * static_cast<double>(k)) * std::sqrt(effort)));
  }
  params.rerank = static_cast<std::uint32_t>(std::min(1e6, params.rerank * params.oversampling));
  params.rerank = static_cast<std::uint32_t>(std::max<std::size_t>(params.rerank, k));
  return params;
}

}  // namespace

/// One search, prepared.
struct IvfSearcher::Request {
  const Query& query;
  SearchParams params;
  const FilterView& filter;
  const SearchContext& context;
  TopK& out;
  WorkCounters& work;
  std::size_t n_allowed = 0;
  double selectivity = 1;
  std::uint64_t n_bytes_before = 0;  ///< of `work`
};

/// What one thread's searches write to; kept from one to the next.
struct IvfSearcher::Scratch {
  std::vector<Line> query_lines;
  std::vector<Line> table_lines;
  ScanScratch scan;
  ScanScratch centroids;
  RouteScratch route;
  ByteQuery byte_query;
  std::vector<std::uint16_t> allowed;
  std::vector<std::uint64_t> seen;  ///< a bit for each row; zero between searches
  std::vector<std::uint32_t> rows;
  std::vector<float> scores;
  std::vector<float> ordered;
};

IvfSearcher::IvfSearcher(FieldColumn column, Partition lists, std::optional<ByteRows> second,
                         std::uint64_t mapped_bytes)
    : column_(column),
      flat_(std::move(column)),
      lists_(std::move(lists)),
      second_(std::move(second)),
      rotation_(lists_.facts().dim, lists_.facts().rotation_seed),
      similarity_(similarity_of(column_.schema.metric)),
      mapped_bytes_(mapped_bytes) {}

Result<> IvfSearcher::search(const Query& query, const AnyParams& any, const FilterView& filter,
                             const SearchContext& context, TopK& out, WorkCounters& work) const {
  if (out.k() == 0 || filter.n_rows() == 0) return {};
  const auto* given = std::any_cast<SearchParams>(&any);
  Request request{
      query,
      settled(given == nullptr ? SearchParams{} : *given, out.k(), lists_.facts().usual_gap),
      filter,
      context,
      out,
      work,
      filter.n_allowed()};
  if (request.n_allowed == 0) return {};
  request.n_bytes_before = work.n_bytes;
  request.selectivity = std::min(
      1.0, static_cast<double>(request.n_allowed) / std::max(1.0, 1.0 * column_.n_present));
  if (context.prefer == Prefer::kExact || is_cheaper_exactly(request)) {
    return search_exactly(request);
  }
  thread_local Scratch scratch;
  const RotatedQuery rotated = rotate(query, scratch);
  QV_TRY(const bool is_telling, request.selectivity < 1
                                    ? scan_filtered(request, rotated, scratch)
                                    : scan_unfiltered(request, rotated, scratch));
  if (!is_telling || scratch.rows.size() < std::min(out.k(), request.n_allowed)) {
    return search_exactly(request);
  }
  if (second_) refine(request, rotated, scratch);
  offer_exactly(query, column_.dense(), scratch.rows, out);
  work.n_rows_scored += scratch.rows.size();
  work.n_bytes += scratch.rows.size() * column_.dense().stride();
  return {};
}

Result<> IvfSearcher::search_exactly(const Request& request) const {
  return flat_.search(request.query, {}, request.filter, request.context, request.out,
                      request.work);
}

/// As many bytes of codes as are scanned in the time that the allowed rows take out of memory: 70
/// to 90 ns a row of 768 bytes on Zen 4 if not all are, 40 otherwise, at 35 GB/s of codes.
double IvfSearcher::exact_bytes(const Request& request) const {
  constexpr double kSlower = 2.5;
  const double seek = request.selectivity < 1 ? kSeekBytes : 0;
  const double row_bytes = seek + kSlower * static_cast<double>(column_.dense().stride());
  return static_cast<double>(request.n_allowed) * row_bytes;
}

/// On arxiv-100k a random filter of selectivity s took s^-0.57 times as many lists; beside those,
/// the usual ones are scanned without the filter, and all centroids are put in order.
bool IvfSearcher::is_cheaper_exactly(const Request& request) const {
  constexpr double kMoreLists = -0.57;
  const auto usual = static_cast<double>(bytes_per_search());
  const double rerank = request.params.rerank * kSeekBytes;
  if (request.selectivity >= 1) return exact_bytes(request) < usual + rerank;
  const double lists = std::min(static_cast<double>(lists_.code_bytes()),
                                usual * std::pow(request.selectivity, kMoreLists));
  const double order = 2.0 * static_cast<double>(lists_.n_lists() * lists_.centroid_stride());
  return exact_bytes(request) < usual + lists + order + rerank;
}

RotatedQuery IvfSearcher::rotate(const Query& query, Scratch& scratch) const {
  const std::uint32_t dim = lists_.facts().padded_dim;
  scratch.query_lines.resize(dim / 16);
  scratch.table_lines.resize(dim / 16);
  auto* values = reinterpret_cast<float*>(scratch.query_lines.data());
  rotation_.apply(query.values().data(), values);
  auto* tables = reinterpret_cast<std::uint8_t*>(scratch.table_lines.data());
  const auto norm = static_cast<float>(kernels().convert.norm(values, dim));
  return {{values, dim},
          stretch_of(norm, lists_.facts().length),
          kernels().codes.prepare(values, dim / 32, tables)};
}

/// The lists that are scanned if every row is allowed.
std::span<const Probe> IvfSearcher::route(const Request& request, const RotatedQuery& query,
                                          Scratch& scratch) const {
  const Router router(lists_, similarity_);
  const std::size_t n_lists = lists_.n_lists();
  if (request.params.nprobe != 0) {
    return router.nearest(query, std::min<std::size_t>(request.params.nprobe, n_lists),
                          scratch.centroids, scratch.route);
  }
  return router.within(query, static_cast<float>(request.params.gap), n_lists, scratch.centroids,
                       scratch.route);
}

Result<bool> IvfSearcher::scan_unfiltered(const Request& request, const RotatedQuery& query,
                                          Scratch& scratch) const {
  CodeScan scan(request.params.rerank, scratch.scan);
  QV_TRY(scan_lists(request, query, route(request, query, scratch), kWholeReach, scan, scratch));
  collect_rows(scan.best(), scratch);
  return true;
}

/// Goes on to farther lists until their keys are as far below the k-th best allowed row as
/// those are, at which a search without the filter ends, below its k-th best row. So a filter takes
/// as many more lists as it moves the best rows away, which its selectivity alone does not tell.
///
/// False if estimates do not tell the best rows from others: without the near rows many are about
/// as far as the best of them, and the rows that are looked at again reach less deep than they do
/// without the filter.
Result<bool> IvfSearcher::scan_filtered(const Request& request, const RotatedQuery& query,
                                        Scratch& scratch) const {
  const std::size_t rerank = request.params.rerank;
  const bool allows_most = request.selectivity > kMost;
  const double want = static_cast<double>(rerank) / (allows_most ? request.selectivity : 1);
  CodeScan scan(static_cast<std::size_t>(want), scratch.scan);
  const auto probes = route(request, query, scratch);
  QV_TRY(const Reach reach, reach_of(request, query, probes, scan));
  const float end = probes.back().key;
  if (allows_most && reach.lists != kWholeReach &&
      scan.narrow(*request.filter.bits(), lists_.rows(), rerank)) {
    QV_TRY(scan_beyond(request, query, end, reach.lists, scan, scratch));
  } else {
    scan = CodeScan(rerank, scratch.scan);
    const Router router(lists_, similarity_);
    const auto all = router.nearest(query, lists_.n_lists(), scratch.centroids, scratch.route);
    QV_TRY(scan_lists(request, query, all, reach.lists, scan, scratch));
  }
  const float depth = scan.kth(request.out.k()) - scan.kth(rerank);
  collect_rows(scan.best(), scratch);
  return tells_best(request, reach.rows, depth);
}

/// Scans the lists within `reach` whose keys are below `end`: first those that are not much
/// farther, as most often there are no others.
Result<> IvfSearcher::scan_beyond(const Request& request, const RotatedQuery& query, float end,
                                  float reach, CodeScan& scan, Scratch& scratch) const {
  constexpr double kWiden = 1.5;
  const float rounding = 1e-6F * (std::abs(end) + std::abs(reach));
  if (least_key(request, query, reach, scan) >= end - rounding) return {};
  const auto beyond = [&](std::span<const Probe> probes) {
    const auto is_above = [end](const Probe& probe) { return probe.key >= end; };
    return std::span(std::partition_point(probes.begin(), probes.end(), is_above), probes.end());
  };
  Request wider = request;
  wider.params.gap *= kWiden;
  wider.params.nprobe += wider.params.nprobe / 2;
  const auto some = beyond(route(wider, query, scratch));
  QV_TRY(const bool is_done, scan_lists(request, query, some, reach, scan, scratch));
  if (is_done) return {};
  if (!some.empty()) end = some.back().key;
  const Router router(lists_, similarity_);
  const auto all = router.nearest(query, lists_.n_lists(), scratch.centroids, scratch.route);
  QV_TRY(scan_lists(request, query, beyond(all), reach, scan, scratch));
  return {};
}

/// `usual`: the depth without the filter. On arxiv-100k hardly a random filter and no filter of
/// near rows came below the lower of these shares of it, filters of far rows alone nearly always;
/// below the higher one is a tenth of random ones.
bool IvfSearcher::tells_best(const Request& request, float usual, float depth) const {
  constexpr float kShare = 0.55F;
  constexpr float kShareIfExactIsCheap = 0.8F;
  constexpr double kCheap = 3;
  const double n_scanned_bytes = static_cast<double>(request.work.n_bytes - request.n_bytes_before);
  const bool is_cheap = exact_bytes(request) < kCheap * n_scanned_bytes;
  return depth >= (is_cheap ? kShareIfExactIsCheap : kShare) * usual;
}

/// Of a search without the filter, which is done for it.
Result<IvfSearcher::Reach> IvfSearcher::reach_of(const Request& request, const RotatedQuery& query,
                                                 std::span<const Probe> probes,
                                                 CodeScan& scan) const {
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (i % kBetweenPolls == 0) QV_TRY(request.context.cancel.check());
    const CodeBlocks blocks = lists_.blocks(probes[i].list);
    scan.scan(query.tables, blocks, probes[i].base, nullptr, lists_.first_position(probes[i].list));
    count(blocks, request.work);
  }
  const float kth = scan.kth(request.out.k());
  const float last = scan.kth(request.params.rerank);
  const bool is_whole = probes.size() == lists_.n_lists() || kth == -kWholeReach;
  return Reach{
      is_whole ? kWholeReach : list_key(similarity_, kth, query.stretch, 0) - probes.back().key,
      last == -kWholeReach ? 0 : kth - last};
}

/// Of the lists that are within `reach` of the k-th best row so far.
float IvfSearcher::least_key(const Request& request, const RotatedQuery& query, float reach,
                             const CodeScan& scan) const {
  const float kth = reach == kWholeReach ? -kWholeReach : scan.kth(request.out.k());
  return kth == -kWholeReach ? kth : list_key(similarity_, kth, query.stretch, 0) - reach;
}

/// Scans lists in their order until the next one is more than `reach` below the k-th best row; true
/// if there was such a one.
Result<bool> IvfSearcher::scan_lists(const Request& request, const RotatedQuery& query,
                                     std::span<const Probe> probes, float reach, CodeScan& scan,
                                     Scratch& scratch) const {
  std::size_t next_look = reach == kWholeReach ? probes.size() : 0;
  float least = least_key(request, query, reach, scan);
  std::size_t i = 0;
  for (; i < probes.size() && !(probes[i].key < least); ++i) {
    if (i % kBetweenPolls == 0) QV_TRY(request.context.cancel.check());
    const std::byte* next =
        i + 1 < probes.size() ? lists_.blocks(probes[i + 1].list).first : nullptr;
    scan_list(request, query, probes[i], next, scan, scratch);
    if (i < next_look) continue;
    least = least_key(request, query, reach, scan);
    next_look = i + i / kListsPerLook + 1;
  }
  return i < probes.size();
}

void IvfSearcher::scan_list(const Request& request, const RotatedQuery& query, const Probe& probe,
                            const std::byte* next, CodeScan& scan, Scratch& scratch) const {
  CodeBlocks blocks = lists_.blocks(probe.list);
  blocks.next = next;
  const std::uint32_t first = lists_.first_position(probe.list);
  const auto* bits = request.filter.bits();
  if (bits == nullptr) {
    scan.scan(query.tables, blocks, probe.base, nullptr, first);
  } else if (request.selectivity > kMost) {
    scan.scan_and_drop(query.tables, blocks, probe.base, *bits, lists_.rows(), first);
  } else {
    scratch.allowed.resize(blocks.n);
    kernels().codes.allowed(lists_.rows().data() + first, blocks.n, bits->words().data(),
                            scratch.allowed.data());
    scan.scan(query.tables, blocks, probe.base, scratch.allowed.data(), first);
  }
  count(blocks, request.work);
}

/// A row that was found in two lists is taken once.
void IvfSearcher::collect_rows(const CodeHits& hits, Scratch& scratch) const {
  auto& rows = scratch.rows;
  auto& seen = scratch.seen;
  rows.clear();
  if (seen.size() * 64 < column_.n_rows) seen.resize(column_.n_rows / 64 + 1);
  for (std::size_t i = 0; i < hits.n; ++i) __builtin_prefetch(&lists_.rows()[hits.positions[i]]);
  for (std::size_t i = 0; i < hits.n; ++i) {
    const std::uint32_t row = lists_.rows()[hits.positions[i]];
    const std::uint64_t bit = std::uint64_t{1} << (row % 64);
    if ((seen[row / 64] & bit) != 0) continue;
    seen[row / 64] |= bit;
    rows.push_back(row);
    if (second_) second_->prefetch_factors(row);
  }
  for (const std::uint32_t row : rows) seen[row / 64] = 0;
}

/// Leaves in `scratch.rows` those that are among the best by their second codes, with some to spare
/// for their errors.
void IvfSearcher::refine(const Request& request, const RotatedQuery& query,
                         Scratch& scratch) const {
  const std::size_t k = request.out.k();
  const std::size_t want = k + k / 4 + 4;
  auto& rows = scratch.rows;
  if (rows.size() <= want) return;
  scratch.scores.resize(rows.size());
  scratch.byte_query.set(query.values);
  second_->score(scratch.byte_query, rows, scratch.scores.data());
  request.work.n_codes_scored += rows.size();
  request.work.n_bytes += rows.size() * second_->row_bytes();
  CodeHits hits{scratch.scores.data(), rows.data(), rows.size(), rows.size()};
  kernels().codes.keep_best(hits, want);
  drop_hopeless(request, hits, scratch);
  rows.resize(hits.n);
}

/// Drops rows that could be among the best k only if their second codes erred more than they do.
void IvfSearcher::drop_hopeless(const Request& request, CodeHits& hits, Scratch& scratch) const {
  constexpr float kDeviations = 4;
  const std::size_t k = request.out.k();
  if (hits.n <= k) return;
  auto& ordered = scratch.ordered;
  ordered.assign(hits.scores, hits.scores + hits.n);
  const auto kth = ordered.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(ordered.begin(), kth, ordered.end(), std::greater<>());
  std::size_t n = 0;
  for (std::size_t i = 0; i < hits.n; ++i) {
    const float error = kDeviations * second_->deviation(scratch.byte_query, hits.positions[i]);
    hits.positions[n] = hits.positions[i];
    n += hits.scores[i] >= *kth - error ? 1 : 0;
  }
  hits.n = n;
}

/// Of the sets that were measured, a search read the codes of about five hundred rows for each
/// hundredfold of their number.
std::uint64_t IvfSearcher::bytes_per_search() const {
  const double n_rows = std::max(1.0, static_cast<double>(column_.n_present));
  const double share = std::min(1.0, 15 / std::sqrt(n_rows));
  return static_cast<std::uint64_t>(static_cast<double>(lists_.code_bytes()) * share);
}

}  // namespace quiver::index::ivf
