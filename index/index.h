// The contract between the engine and every index type.
//
// An index is a cache over the rows of one field of one sealed segment: losing it costs time, never
// answers. Adding a type is a folder, a line in registry/registry.cc and a row in the conformance
// suite.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "base/params.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "index/any_params.h"
#include "index/prepared_query.h"
#include "index/row_filter.h"
#include "index/topk.h"
#include "index/vector_column.h"

namespace quiver::gpu {
class Devices;
enum class Placing : std::uint8_t;
struct Held;
}  // namespace quiver::gpu

namespace quiver::index {

/// Work that a search did: for explain, for calibration and for tests. Searches add to it and never
/// reset it.
struct WorkCounters {
  std::uint64_t n_lists = 0;
  std::uint64_t n_blocks = 0;
  std::uint64_t n_codes_scored = 0;
  std::uint64_t n_rows_scored = 0;  ///< rows scored exactly, once per query of a batch
  std::uint64_t n_bytes = 0;        ///< bytes of vectors and codes read

  WorkCounters& operator+=(const WorkCounters& other);
};

/// The user insists on exact scores (kExact), prefers the index even if another way is as good
/// (kIndexed), or does not care.
enum class Prefer : std::uint8_t { kAny, kExact, kIndexed };

/// A way in which an index could answer a search, for explain.
struct WayReport {
  std::string_view way;     ///< static text
  double estimated_us = 0;  ///< on one thread of the machine that index/cost.h was measured on
  bool is_taken = false;    ///< of several, the first ones could not tell the best rows
};

struct SearchContext {
  const Cancel& cancel;
  Executor* executor = nullptr;  ///< nullptr: stay on the calling thread
  Prefer prefer = Prefer::kAny;
  gpu::Devices* devices = nullptr;  ///< may help; nullptr: none, or the rows may still change
  /// Receives the ways of a search whose type has several; nullptr: not asked for.
  std::vector<WayReport>* ways = nullptr;
};

struct MemoryUse {
  std::uint64_t heap_bytes = 0;
  std::uint64_t mapped_bytes = 0;
};

using Facts = std::vector<std::pair<std::string, ParamValue>>;

/// A report on an index, for people.
struct Description {
  Facts facts;  ///< in reading order
  /// Measurements of the build as a table; no columns: no table.
  std::string table;
  std::vector<std::string> columns;
  std::vector<std::vector<ParamValue>> rows;  ///< one value for each of `columns`
};

/// A query of a batch in which each has its own filter.
struct FilteredQuery {
  const PreparedQuery* query = nullptr;
  const RowFilter* filter = nullptr;  ///< equal pointers: the same filter
  TopK* out = nullptr;
};

/// Immutable; any number of threads.
class Searcher {
 public:
  virtual ~Searcher() = default;

  /// Offers the best hits among the rows that `filter` allows to `out`, whose tie order is set.
  /// Every score is exact, unless the type's parameters ask for less. Polls `cancel` at least every
  /// 50 us of work and then returns its error. `params`: of this type, or none for its defaults;
  /// others are kInternal, except where a type has no parameters.
  virtual Result<> search(const PreparedQuery& query, const AnyParams& params,
                          const RowFilter& filter, const SearchContext& context, TopK& out,
                          WorkCounters& work) const = 0;

  /// Searches for each query with the same hits as `search`. Hits of `queries[i]` go to
  /// `results[i]`; heaps are distinct. Types that can share a pass over their memory do; the
  /// default is a loop. `work` counts memory that is read once for several queries once. After an
  /// error some heaps may be filled.
  virtual Result<> search_batch(std::span<const PreparedQuery* const> queries,
                                const AnyParams& params, const RowFilter& filter,
                                const SearchContext& context, std::span<TopK* const> results,
                                WorkCounters& work) const;
  /// The same, each query with its own filter. The queries of a filter are a batch, one after
  /// another or on all threads; types whose devices take several filters at a time ask them about
  /// all queries at once. No ways are reported.
  virtual Result<> search_filtered(std::span<const FilteredQuery> queries, const AnyParams& params,
                                   const SearchContext& context, WorkCounters& work) const;
  /// Sparse fields: adds to `counts[i]` the number of allowed rows that hold index `terms[i]`,
  /// exactly. `terms` ascend. Polls `cancel`. Other kinds: kUnimplemented, the default.
  virtual Result<> count_terms(std::span<const std::uint32_t> terms, const RowFilter& filter,
                               std::span<std::uint64_t> counts, const Cancel& cancel) const;
  /// Estimated bytes that one default search reads. If arithmetic takes longer than reading, the
  /// bytes that could be read in that time. Decides whether a search gets its own thread.
  [[nodiscard]] virtual std::uint64_t bytes_per_search() const = 0;
  /// The same for an exact search (Prefer::kExact).
  [[nodiscard]] virtual std::uint64_t bytes_per_exact_search() const { return bytes_per_search(); }
  /// True if a device answers exact searches now whose filter allows `n_allowed` of the rows that
  /// have a vector: hundreds of them in about the time of one.
  [[nodiscard]] virtual bool is_on_device(std::size_t /*n_allowed*/) const { return false; }
  /// True if a device helps with groups of such searches by the index now.
  [[nodiscard]] virtual bool is_index_on_device(std::size_t /*n_allowed*/) const { return false; }
  /// Puts in force whether devices shall hold what usual searches read. False if it is to be on a
  /// device and is not there yet: then ask again. The default does nothing.
  virtual bool place(gpu::Devices& /*devices*/, gpu::Placing /*placing*/) const { return true; }
  /// Has devices copy what `wanted` names, as if searches wanted it, and waits for all that is on
  /// its way there. Where there is no room nothing comes. The only error is that of `cancel`. The
  /// default does nothing.
  virtual Result<> hold(gpu::Devices& /*devices*/, const gpu::Held& /*wanted*/,
                        const Cancel& /*cancel*/) const {
    return {};
  }
  [[nodiscard]] virtual MemoryUse memory() const = 0;
  /// Each row with a vector once, similar ones near one another: searches for them in this order
  /// read the same memory. Empty: no such order is known.
  [[nodiscard]] virtual std::vector<std::uint32_t> rows_by_nearness() const { return {}; }
  /// The default is empty.
  [[nodiscard]] virtual Description describe() const { return {}; }
};

/// An even sample of the queries that a multi-vector field was asked.
struct QuerySample {
  std::uint32_t dim = 0;
  /// One query each, as `PreparedQuery::values`: `[n_tokens, dim]` row-major. Long queries are cut.
  std::vector<std::vector<float>> queries;
};

struct BuildContext {
  Executor* executor = nullptr;
  const Cancel& cancel;
  std::uint64_t seed = 0;
  /// Receives the number of rows done, now and then. Any thread of the build calls it, also several
  /// at once, so values may come out of order.
  std::function<void(std::uint64_t)> progress;
  /// Recorded queries of the field; nullptr or empty: none are known. Borrowed for the build.
  const QuerySample* queries = nullptr;
  /// An index of the same type, parameters and field, over other rows of which many are among
  /// these. The build may start from its centroids. nullptr: none. Borrowed for the build. The same
  /// rows, seed and predecessor give the same bytes.
  const Searcher* predecessor = nullptr;
  /// Files of an index of the same rows and parameters, some of which may be damaged. A build
  /// without a predecessor may read them to give the same bytes again. nullptr: none.
  const Directory* former = nullptr;
  /// May help; the bytes are the same. nullptr: none.
  gpu::Devices* devices = nullptr;
};

/// One constant per type, of plain function pointers.
struct IndexType {
  std::string_view name;
  bool (*supports)(const FieldSchema& schema);
  Result<AnyParams> (*parse_build)(const KeyValues& values);
  Result<AnyParams> (*parse_search)(const KeyValues& values);
  /// The parameters that `parse_search` knows.
  std::vector<ParamInfo> (*describe_search)();
  /// Writes the index's files into `out`, each checksummed and versioned.
  Result<> (*build)(const FieldColumn& column, const AnyParams& params, const BuildContext& context,
                    Directory& out);
  /// Opens what `build` wrote over the same column. Damaged files are kDataLoss.
  Result<std::unique_ptr<Searcher>> (*open)(const Directory& directory, FieldColumn column);
};

/// Every index type, `flat` first (index/registry/registry.cc).
[[nodiscard]] std::span<const IndexType* const> index_types();
/// nullptr if there is none of this name.
[[nodiscard]] const IndexType* find_index_type(std::string_view name);

}  // namespace quiver::index
