#include "index/dense/osq/searcher.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/prefetch.h"
#include "encoders/osq/signs.h"
#include "index/dense/osq/row_choice.h"
#include "index/dense/osq/scaled_query.h"
#include "kernels/kernels.h"

namespace quiver::index::dense::osq {
namespace {

using encoders::osq::Bound;
using encoders::osq::BoundTables;

constexpr std::size_t kSignsPerPoll = 4096;
constexpr std::size_t kBoundsPerPoll = 128;
/// Rows between a prefetch and the use of a row's codes.
constexpr std::size_t kPrefetchDistance = 8;
/// Rows that an exact search scores between two looks at the k-th best score.
constexpr std::size_t kRowsPerLook = 32;

/// Largest mean of sqrt(length^2 - |x|^2), as a share of the longest length, of rows that count as
/// equally long: they are then at least .97 times as long as the longest.
constexpr double kMaxEvenComplement = 0.25;

/// `share` of `n`, rounded up, within the range of the result.
std::size_t share_of(std::size_t n, double share) {
  return static_cast<std::size_t>(std::min(std::ceil(static_cast<double>(n) * share), 0x1p62));
}

void sort_ascending(std::vector<std::uint32_t>& rows) { std::sort(rows.begin(), rows.end()); }

}  // namespace

/// What all queries of a batch share.
struct OsqSearcher::Shared {
  const OsqSearchParams& params;
  const std::uint64_t* allowed = nullptr;  ///< words of the filter; nullptr: all rows
  const SearchContext& context;
  WorkCounters& work;
};

struct OsqSearcher::Call {
  const PreparedQuery& prepared;
  ScaledQuery query;
  std::size_t n_rescored = 0;  ///< rows of a partition that are scored exactly
  const Shared& shared;
  TopK& out;
};

/// Which partitions are searched for which calls.
struct OsqSearcher::Visits {
  std::vector<std::uint32_t> order;                  ///< for one call, the nearest partition first
  std::vector<std::vector<std::uint32_t>> calls_of;  ///< numbers of calls, by partition
};

/// Memory of one search, kept by its thread.
struct OsqSearcher::Scratch {
  std::vector<std::uint32_t> counts;  ///< candidates of each partition
  Candidates candidates;
  PartitionQuery query;
  std::vector<float> mixed;
  std::vector<std::byte> signs;
  std::vector<std::uint32_t> distances;
  std::vector<std::uint32_t> chosen;  ///< positions in `candidates`
  std::vector<std::uint32_t> rows;
  std::vector<float> lower;
  std::vector<float> upper;
  std::vector<CostOfRow> costs;
  std::optional<CheapestRows> cheapest;
};

OsqSearcher::Scratch& OsqSearcher::scratch_of_thread() {
  thread_local Scratch scratch;
  return scratch;
}

OsqSearcher::Call OsqSearcher::call_of(const PreparedQuery& query, const Shared& shared,
                                       TopK& out) const {
  const double rescored = shared.params.rerank_factor * shared.params.oversampling;
  return {query, ScaledQuery(query, file_.facts), share_of(out.k(), rescored), shared, out};
}

Result<> OsqSearcher::search(const PreparedQuery& query, const AnyParams& params,
                             const RowFilter& filter, const SearchContext& context, TopK& out,
                             WorkCounters& work) const {
  const PreparedQuery* const queries[] = {&query};
  TopK* const results[] = {&out};
  return search_batch(queries, params, filter, context, results, work);
}

Result<> OsqSearcher::search_batch(std::span<const PreparedQuery* const> queries,
                                   const AnyParams& params, const RowFilter& filter,
                                   const SearchContext& context, std::span<TopK* const> results,
                                   WorkCounters& work) const {
  QV_TRY(const OsqSearchParams* asked, params.as<OsqSearchParams>());
  if (context.prefer == Prefer::kExact) {
    return flat_.search_batch(queries, {}, filter, context, results, work);
  }
  QV_TRY(context.cancel.check());
  if (context.ways != nullptr) context.ways->push_back({"partitions", 0, true});
  if (queries.empty() || column_.n_present == 0) return {};
  const auto* allowed = filter.words();
  const Shared shared{*asked, allowed, context, work};
  Scratch& scratch = scratch_of_thread();
  scratch.counts.clear();
  for (const Partition& partition : file_.partitions) {
    scratch.counts.push_back(count_candidates(partition, allowed));
  }
  std::vector<Call> calls;
  Visits visits;
  visits.calls_of.resize(file_.partitions.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (results[i]->k() == 0) continue;
    const Call call = call_of(*queries[i], shared, *results[i]);
    const bool is_exact = asked->precision == "exact";
    if (call.query.is_extreme() || (is_exact && !call.query.has_costs())) {
      QV_TRY(flat_.search(*queries[i], {}, filter, context, *results[i], work));
    } else if (is_exact) {
      QV_TRY(search_exactly(call, scratch));
    } else {
      for (const std::uint32_t p : choose_partitions(file_, call.query, scratch.counts,
                                                     call.n_rescored, asked->distance_factor)) {
        if (visits.calls_of[p].empty()) visits.order.push_back(p);
        visits.calls_of[p].push_back(static_cast<std::uint32_t>(calls.size()));
      }
      calls.push_back(call);
    }
  }
  return visit(calls, visits, scratch);
}

Result<> OsqSearcher::search_filtered(std::span<const FilteredQuery> queries,
                                      const AnyParams& params, const SearchContext& context,
                                      WorkCounters& work) const {
  if (context.prefer == Prefer::kExact) {
    return flat_.search_filtered(queries, {}, context, work);
  }
  return Searcher::search_filtered(queries, params, context, work);
}

/// Searches each partition for all queries that visit it: its matrix and the list of its candidates
/// serve them all.
Result<> OsqSearcher::visit(std::span<const Call> calls, const Visits& visits,
                            Scratch& scratch) const {
  for (const std::uint32_t p : visits.order) {
    const Partition& partition = file_.partitions[p];
    const Shared& shared = calls.front().shared;
    list_candidates(partition, shared.allowed, scratch.counts[p], scratch.candidates);
    for (const std::uint32_t i : visits.calls_of[p]) {
      QV_TRY(search_partition(calls[i], partition, scratch));
    }
    shared.work.n_lists += visits.calls_of[p].size();
  }
  return {};
}

/// Searches the listed candidates of one partition.
Result<> OsqSearcher::search_partition(const Call& call, const Partition& partition,
                                       Scratch& scratch) const {
  QV_TRY(call.shared.context.cancel.check());
  const std::size_t n = scratch.candidates.rows.size();
  if (n <= call.n_rescored) return offer(call, scratch.candidates.rows);
  scratch.query.set(call.query, partition);
  call.shared.work.n_bytes += partition.directions.size() * sizeof(float);
  const std::size_t kept_by_signs =
      std::max(share_of(n, call.shared.params.hamming_percent / 100),
               share_of(call.n_rescored, std::max(1.0, call.shared.params.hamming_percent)));
  const bool uses_signs = call.shared.params.precision == "hamming" && kept_by_signs < n;
  if (uses_signs) {
    QV_TRY(choose_by_signs(call, partition, kept_by_signs, scratch));
  } else {
    scratch.chosen.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) scratch.chosen[i] = i;
  }
  QV_TRY(choose_by_bounds(call, partition, scratch));
  scratch.rows.clear();
  for (const CostOfRow& row : scratch.cheapest->rows()) scratch.rows.push_back(row.row);
  sort_ascending(scratch.rows);
  return offer(call, scratch.rows);
}

/// The values whose signs are compared with those of rows.
std::span<const float> OsqSearcher::sign_values(const Call& call, const Partition& partition,
                                                Scratch& scratch) const {
  if (!file_.rotation) return scratch.query.coordinates;
  // Products with rows of unequal lengths are linear in the query, distances in the centred one.
  const bool are_lengths_unequal =
      partition.facts.complement > kMaxEvenComplement * file_.facts.length;
  scratch.mixed.resize(file_.rotation->padded_dim());
  file_.rotation->apply(
      are_lengths_unequal ? call.query.vector().data() : scratch.query.centred.data(),
      scratch.mixed.data());
  return scratch.mixed;
}

/// The paper's first cut: the rows whose signs differ least from the query's.
Result<> OsqSearcher::choose_by_signs(const Call& call, const Partition& partition, std::size_t n,
                                      Scratch& scratch) const {
  const std::size_t n_bytes = encoders::osq::sign_bytes(partition.n_signs);
  const auto& numbers = scratch.candidates.numbers;
  scratch.signs.resize(n_bytes);
  encoders::osq::write_signs(sign_values(call, partition, scratch), scratch.signs.data());
  scratch.distances.resize(numbers.size());
  const auto* query = reinterpret_cast<const std::uint8_t*>(scratch.signs.data());
  for (std::size_t first = 0; first < numbers.size(); first += kSignsPerPoll) {
    QV_TRY(call.shared.context.cancel.check());
    const std::size_t end = std::min(first + kSignsPerPoll, numbers.size());
    kernels().binary.hamming.gather(query, static_cast<std::uint32_t>(n_bytes),
                                    partition.signs.data(), n_bytes, numbers.data() + first,
                                    end - first, scratch.distances.data() + first);
  }
  call.shared.work.n_codes_scored += numbers.size();
  call.shared.work.n_bytes += numbers.size() * n_bytes;
  choose_smallest(scratch.distances, static_cast<std::uint32_t>(n_bytes * 8), n, scratch.chosen);
  return {};
}

/// The second cut: the rows with the least lower bounds. Rows that the k-th best score so far rules
/// out are left out.
Result<> OsqSearcher::choose_by_bounds(const Call& call, const Partition& partition,
                                       Scratch& scratch) const {
  const BoundTables tables(partition.codebook(), call.query.similarity(), Bound::kLower,
                           scratch.query.coordinates, scratch.lower);
  const std::size_t n_bytes = partition.facts.n_segments;
  const auto& candidates = scratch.candidates;
  const auto codes_of = [&](std::size_t i) {
    return partition.codes.data() + candidates.numbers[scratch.chosen[i]] * n_bytes;
  };
  const float limit = call.query.cost_limit(call.out.threshold()) - scratch.query.lower;
  CheapestRows& cheapest = scratch.cheapest.emplace(call.n_rescored);
  for (std::size_t i = 0; i < scratch.chosen.size(); ++i) {
    if (i % kBoundsPerPoll == 0) QV_TRY(call.shared.context.cancel.check());
    if (i + kPrefetchDistance < scratch.chosen.size()) {
      prefetch_bytes(codes_of(i + kPrefetchDistance), n_bytes);
    }
    const float most = std::min(limit, cheapest.limit());
    const float cost = tables.bound(codes_of(i), most);
    if (cost <= most) cheapest.offer({cost, candidates.rows[scratch.chosen[i]]});
  }
  call.shared.work.n_codes_scored += scratch.chosen.size();
  call.shared.work.n_bytes += scratch.chosen.size() * n_bytes;
  return {};
}

/// The two phases of a VA-file (Weber et al., VLDB 1998): bounds of all rows, then exact scores in
/// the order of lower bounds until the bound of the next row is worse than the k-th best score.
Result<> OsqSearcher::search_exactly(const Call& call, Scratch& scratch) const {
  scratch.costs.clear();
  scratch.cheapest.emplace(call.out.k());
  for (std::size_t p = 0; p < file_.partitions.size(); ++p) {
    if (scratch.counts[p] == 0) continue;
    list_candidates(file_.partitions[p], call.shared.allowed, scratch.counts[p],
                    scratch.candidates);
    QV_TRY(bound_all(call, file_.partitions[p], scratch));
    ++call.shared.work.n_lists;
  }
  std::sort(scratch.costs.begin(), scratch.costs.end());
  for (std::size_t first = 0; first < scratch.costs.size(); first += kRowsPerLook) {
    if (scratch.costs[first].cost > call.query.cost_limit(call.out.threshold())) break;
    const std::size_t end = std::min(first + kRowsPerLook, scratch.costs.size());
    scratch.rows.clear();
    for (std::size_t i = first; i < end; ++i) scratch.rows.push_back(scratch.costs[i].row);
    sort_ascending(scratch.rows);
    QV_TRY(offer(call, scratch.rows));
  }
  return {};
}

/// Adds the lower bounds of a partition's listed candidates to `scratch.costs`, except those above
/// the k-th least upper bound.
Result<> OsqSearcher::bound_all(const Call& call, const Partition& partition,
                                Scratch& scratch) const {
  const auto& [rows, numbers] = scratch.candidates;
  scratch.query.set(call.query, partition);
  const BoundTables lower(partition.codebook(), call.query.similarity(), Bound::kLower,
                          scratch.query.coordinates, scratch.lower);
  const BoundTables upper(partition.codebook(), call.query.similarity(), Bound::kUpper,
                          scratch.query.coordinates, scratch.upper);
  const std::size_t n_bytes = partition.facts.n_segments;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % kBoundsPerPoll == 0) QV_TRY(call.shared.context.cancel.check());
    const std::byte* const codes = partition.codes.data() + numbers[i] * n_bytes;
    const float cost = lower.bound(codes) + scratch.query.lower;
    // Not a number: the file is damaged.
    if (!(cost <= scratch.cheapest->limit() + 2 * call.query.rounding())) continue;
    scratch.costs.push_back({cost, rows[i]});
    scratch.cheapest->offer({upper.bound(codes) + scratch.query.upper, rows[i]});
  }
  call.shared.work.n_codes_scored += rows.size();
  call.shared.work.n_bytes += rows.size() * n_bytes + partition.directions.size() * sizeof(float);
  return {};
}

Result<> OsqSearcher::offer(const Call& call, std::span<const std::uint32_t> rows) const {
  QV_TRY(offer_exactly(call.prepared, column_, rows, call.shared.context.cancel, call.out));
  call.shared.work.n_rows_scored += rows.size();
  call.shared.work.n_bytes += rows.size() * column_.dense().stride();
  return {};
}

/// As if a third of the partitions were visited without a filter.
std::uint64_t OsqSearcher::bytes_per_search() const {
  std::uint64_t n_bytes = 0;
  const OsqSearchParams usual;
  for (const Partition& partition : file_.partitions) {
    const double kept = partition.facts.n_rows * usual.hamming_percent / 100;
    n_bytes += partition.directions.size() * sizeof(float) + partition.signs.size() +
               static_cast<std::uint64_t>(kept * partition.facts.n_segments);
  }
  return n_bytes / 3;
}

MemoryUse OsqSearcher::memory() const {
  std::uint64_t heap = sizeof(*this) + file_.partitions.size() * sizeof(Partition);
  for (const Partition& partition : file_.partitions) {
    heap += partition.packing.places().size_bytes() + partition.bits.size() +
            partition.ranks.size() * sizeof(std::uint32_t);
  }
  return {heap, file_.n_bytes};
}

Description OsqSearcher::describe() const {
  std::uint64_t code_bytes = 0;
  std::uint64_t sign_bytes = 0;
  std::uint64_t codebook_bytes = 0;
  Description description;
  description.table = "partitions";
  description.columns = {"rows", "directions", "code_bytes"};
  for (const Partition& partition : file_.partitions) {
    code_bytes += partition.codes.size() - kCodePadding;
    sign_bytes += partition.signs.size();
    codebook_bytes += (partition.directions.size() + partition.limits.size()) * sizeof(float);
    description.rows.push_back({std::int64_t{partition.facts.n_rows},
                                std::int64_t{partition.facts.n_out},
                                std::int64_t{partition.facts.n_segments}});
  }
  description.facts = {{"bits", file_.facts.bits},
                       {"code_bytes", static_cast<std::int64_t>(code_bytes)},
                       {"sign_bytes", static_cast<std::int64_t>(sign_bytes)},
                       {"codebook_bytes", static_cast<std::int64_t>(codebook_bytes)}};
  return description;
}

}  // namespace quiver::index::dense::osq
