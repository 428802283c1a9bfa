#include "index/ivf/searcher.h"

#include <algorithm>
#include <any>
#include <cmath>
#include <vector>

#include "index/flat/dense.h"
#include "index/ivf/code_scan.h"

namespace quiver::index::ivf {
namespace {

/// Lists that are scanned if the caller does not say: what recall@10 of .98 took on embeddings of
/// sentences, where the number of lists that hold the nearest rows grows with the root of all.
constexpr double kProbesPerRoot = 2.5;
constexpr double kDefaultEffort = 128;

std::size_t count_allowed(const FilterView& filter) {
  return filter.bits() == nullptr ? filter.n_rows() : filter.bits()->count();
}

struct Probe {
  float base = 0;  ///< the score of the list's centroid
  std::uint32_t list = 0;
};

struct alignas(64) Line {
  std::byte bytes[64];
};

}  // namespace

/// One search, prepared.
struct IvfSearcher::Request {
  const Query& query;
  const FilterView& filter;
  const SearchContext& context;
  TopK& out;
  WorkCounters& work;
  std::size_t n_allowed = 0;
  std::uint32_t n_probes = 0;
  std::size_t n_rerank = 0;
};

/// What one thread's searches write to; kept from one to the next.
struct IvfSearcher::Scratch {
  std::vector<Line> query_lines;
  std::vector<Line> table_lines;
  CodeTables tables;
  ScanScratch scan;
  ByteQuery byte_query;
  std::vector<float> scores;
  std::vector<Probe> probes;
  std::vector<std::uint16_t> allowed;
  std::vector<std::uint32_t> rows;

  [[nodiscard]] float* query() { return reinterpret_cast<float*>(query_lines.data()); }
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
  const SearchParams params = given == nullptr ? SearchParams{} : *given;
  Request request{query, filter, context, out, work, count_allowed(filter)};
  const double k_factor =
      std::pow(static_cast<double>(std::max<std::size_t>(out.k(), 10)) / 10, .3);
  const double effort = params.effort == 0 ? 1 : params.effort / kDefaultEffort;
  const double selectivity =
      static_cast<double>(request.n_allowed) / std::max(1U, column_.n_present);
  if (request.n_allowed == 0) return {};
  const double probes = params.nprobe != 0 ? params.nprobe
                                           : effort * k_factor * kProbesPerRoot *
                                                 std::sqrt(static_cast<double>(lists_.n_lists()));
  request.n_probes = static_cast<std::uint32_t>(
      std::min(static_cast<double>(lists_.n_lists()),
               std::ceil(probes / std::pow(std::min(1.0, selectivity), .65))));
  request.n_rerank = std::max<std::size_t>(
      params.rerank != 0
          ? params.rerank
          : static_cast<std::size_t>((40 + 6 * static_cast<double>(out.k())) * std::sqrt(effort)),
      out.k());
  if (context.prefer == Prefer::kExact || is_cheaper_exactly(request)) {
    return flat_.search(query, {}, filter, context, out, work);
  }
  thread_local Scratch scratch;
  prepare(query, scratch);
  route(request, scratch);
  QV_TRY(scan_lists(request, scratch));
  return rerank(request, scratch);
}

bool IvfSearcher::is_cheaper_exactly(const Request& request) const {
  const auto row_bytes = static_cast<double>(column_.dense().stride());
  const double exactly = static_cast<double>(request.n_allowed) * (row_bytes + 256);
  const double n_codes =
      static_cast<double>(lists_.facts().n_positions) * request.n_probes / lists_.n_lists();
  const double code_bytes = static_cast<double>(lists_.code_bytes()) / lists_.facts().n_positions;
  return exactly <
         n_codes * (code_bytes + 8) + static_cast<double>(request.n_rerank) * row_bytes * 1.5;
}

void IvfSearcher::prepare(const Query& query, Scratch& scratch) const {
  const std::uint32_t dim = lists_.facts().padded_dim;
  scratch.query_lines.resize(dim / 16);
  scratch.table_lines.resize(dim / 16);
  rotation_.apply(query.values().data(), scratch.query());
  scratch.tables = kernels().codes.prepare(
      scratch.query(), dim / 32, reinterpret_cast<std::uint8_t*>(scratch.table_lines.data()));
}

/// Leaves the lists to scan in `scratch.probes`, nearest first.
void IvfSearcher::route(Request& request, Scratch& scratch) const {
  const std::uint32_t dim = lists_.facts().padded_dim;
  const std::size_t want = 3 * std::size_t{request.n_probes} + 16;
  const auto& exact = kernels().dense(similarity_, RowType::kBf16);
  CodeScan scan(want < lists_.n_lists() / 2 ? want : 0, scratch.scan);
  auto& probes = scratch.probes;
  probes.clear();
  if (want >= lists_.n_lists() / 2) {
    scratch.scores.resize(lists_.n_lists());
    exact.many(scratch.query(), dim, lists_.centroids(), lists_.centroid_stride(), lists_.n_lists(),
               scratch.scores.data());
    for (std::uint32_t list = 0; list < lists_.n_lists(); ++list) {
      probes.push_back({scratch.scores[list], list});
    }
  } else {
    const float base =
        kernels()
            .dense(similarity_, RowType::kF32)
            .one(scratch.query(), dim, reinterpret_cast<const std::byte*>(lists_.mean().data()));
    scan.scan(scratch.tables, lists_.routes(), base, nullptr, 0);
    const CodeHits& best = scan.best();
    scratch.scores.resize(best.n);
    exact.gather(scratch.query(), dim, lists_.centroids(), lists_.centroid_stride(), best.positions,
                 best.n, scratch.scores.data());
    for (std::size_t i = 0; i < best.n; ++i) {
      probes.push_back({scratch.scores[i], best.positions[i]});
    }
  }
  const auto nearer = [](const Probe& a, const Probe& b) {
    return a.base != b.base ? a.base > b.base : a.list < b.list;
  };
  const std::size_t n = std::min<std::size_t>(request.n_probes, probes.size());
  if (n < probes.size()) {
    std::nth_element(probes.begin(), probes.begin() + static_cast<std::ptrdiff_t>(n), probes.end(),
                     nearer);
    probes.resize(n);
  }
  std::sort(probes.begin(), probes.end(), nearer);
}

Result<> IvfSearcher::scan_lists(Request& request, Scratch& scratch) const {
  constexpr std::size_t kBetweenPolls = 32;
  CodeScan scan(request.n_rerank, scratch.scan);
  const auto& probes = scratch.probes;
  const auto* bits = request.filter.bits();
  const bool few_denied = bits != nullptr && request.n_allowed * 2 > column_.n_present;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (i % kBetweenPolls == 0 && request.context.cancel.poll()) {
      return request.context.cancel.check();
    }
    CodeBlocks blocks = lists_.blocks(probes[i].list);
    const std::uint32_t first = lists_.first_position(probes[i].list);
    if (i + 1 < probes.size()) blocks.next = lists_.blocks(probes[i + 1].list).first;
    if (bits == nullptr) {
      scan.scan(scratch.tables, blocks, probes[i].base, nullptr, first);
    } else if (few_denied) {
      scan.scan_and_drop(scratch.tables, blocks, probes[i].base, *bits, lists_.rows(), first);
    } else {
      scratch.allowed.resize(blocks.n);
      kernels().codes.allowed(lists_.rows().data() + first, blocks.n, bits->words().data(),
                              scratch.allowed.data());
      scan.scan(scratch.tables, blocks, probes[i].base, scratch.allowed.data(), first);
    }
    ++request.work.n_lists;
    request.work.n_blocks += blocks.n;
    request.work.n_codes_scored += blocks.n * CodeBlocks::kRows;
    request.work.n_bytes += blocks.n * blocks.block_bytes();
  }
  CodeHits best = scan.best();
  if (second_) refine(request, best, scratch);
  scratch.rows.resize(best.n);
  for (std::size_t i = 0; i < best.n; ++i) scratch.rows[i] = lists_.rows()[best.positions[i]];
  return {};
}

/// Leaves in `hits` the rows that are among the best by their second codes, with some to spare for
/// their errors.
void IvfSearcher::refine(Request& request, CodeHits& hits, Scratch& scratch) const {
  const std::size_t k = request.out.k();
  const std::size_t want = k + k / 4 + 4;
  if (hits.n <= want) return;
  scratch.byte_query.set({scratch.query(), lists_.facts().padded_dim});
  second_->score(scratch.byte_query, {hits.positions, hits.n}, hits.scores);
  request.work.n_codes_scored += hits.n;
  request.work.n_bytes += hits.n * second_->row_bytes();
  kernels().codes.keep_best(hits, want);
}

Result<> IvfSearcher::rerank(Request& request, Scratch& scratch) const {
  const std::size_t wanted = std::min(request.out.k(), request.n_allowed);
  if (scratch.rows.size() < wanted) {
    return flat_.search(request.query, {}, request.filter, request.context, request.out,
                        request.work);
  }
  offer_exactly(request.query, column_.dense(), scratch.rows, request.out);
  request.work.n_rows_scored += scratch.rows.size();
  request.work.n_bytes += scratch.rows.size() * column_.dense().stride();
  return {};
}

std::uint64_t IvfSearcher::bytes_per_search() const {
  const double n_lists = lists_.n_lists();
  const double share = std::min(1.0, kProbesPerRoot / std::sqrt(std::max(1.0, n_lists)));
  return static_cast<std::uint64_t>(static_cast<double>(lists_.code_bytes()) * share);
}

}  // namespace quiver::index::ivf
