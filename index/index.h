// The contract between the engine and every index type.
//
// An index is a cache over the rows of one field of one sealed segment: losing it costs time, never
// answers. Adding a type is a folder, a line in registry.cc and a row in the conformance suite.
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

namespace quiver::index {

/// What a search did: for explain, for calibration, and for tests. Added to, never reset.
struct WorkCounters {
  std::uint64_t n_lists = 0;
  std::uint64_t n_blocks = 0;
  std::uint64_t n_codes_scored = 0;
  std::uint64_t n_rows_scored = 0;  ///< exactly; a row counts for each query of a batch
  std::uint64_t n_bytes = 0;        ///< of vectors and codes read

  WorkCounters& operator+=(const WorkCounters& other);
};

/// Whether the user insists on exact scores, would rather not wait for them, or does not care.
enum class Prefer : std::uint8_t { kAny, kExact, kIndexed };

struct SearchContext {
  const Cancel& cancel;
  Executor* executor = nullptr;  ///< nullptr: stay on the calling thread
  Prefer prefer = Prefer::kAny;
};

struct MemoryUse {
  std::uint64_t heap_bytes = 0;
  std::uint64_t mapped_bytes = 0;
};

using Facts = std::vector<std::pair<std::string, ParamValue>>;

/// What an index has to say of itself, for people.
struct Description {
  Facts facts;  ///< in the order that they are read in
  /// A table of what was measured when the index was built; without columns there is none.
  std::string table;
  std::vector<std::string> columns;
  std::vector<std::vector<ParamValue>> rows;  ///< a value for each column
};

/// Immutable; any number of threads.
class Searcher {
 public:
  virtual ~Searcher() = default;

  /// Offers the best hits among the rows that `filter` allows to `out`, whose tie order is set.
  /// Scores are exact, or candidates' scores were re-computed exactly. Polls `cancel` at least
  /// every 50 us of work and then answers its error.
  virtual Result<> search(const PreparedQuery& query, const AnyParams& params,
                          const RowFilter& filter, const SearchContext& context, TopK& out,
                          WorkCounters& work) const = 0;

  /// As `search` for each query, with the same hits: `outs[i]`, distinct heaps, one for each query,
  /// are offered those of `queries[i]`. Types that can share a pass over their memory among queries
  /// do; the default is a loop. `work` is that of all together, memory read once counted once.
  /// After an error some heaps may be filled.
  virtual Result<> search_batch(std::span<const PreparedQuery* const> queries,
                                const AnyParams& params, const RowFilter& filter,
                                const SearchContext& context, std::span<TopK* const> outs,
                                WorkCounters& work) const;
  /// Sparse fields: adds to `counts[i]` the number of allowed rows that hold index `terms[i]`;
  /// `terms` ascending. Exact. Polls `cancel`. Others: kUnimplemented, the default.
  virtual Result<> count_terms(std::span<const std::uint32_t> terms, const RowFilter& filter,
                               std::span<std::uint64_t> counts, const Cancel& cancel) const;
  /// About the bytes that one search with default parameters reads, where arithmetic costs more,
  /// as many as would take as long: tells whether it is worth a thread of its own.
  [[nodiscard]] virtual std::uint64_t bytes_per_search() const = 0;
  [[nodiscard]] virtual MemoryUse memory() const = 0;
  /// Empty: there is nothing to say.
  [[nodiscard]] virtual Description describe() const { return {}; }
};

/// Queries that a multi-vector field was asked, drawn evenly from all of them.
struct QuerySample {
  std::uint32_t dim = 0;
  /// Tokens as `Query::values` has them, `[n_tokens, dim]` row-major; of long queries the first.
  std::vector<std::vector<float>> queries;
};

struct BuildContext {
  Executor* executor = nullptr;
  const Cancel& cancel;
  std::uint64_t seed = 0;
  /// Called now and then with the number of rows done, by any thread of the build, also by several
  /// at once: what comes last need not be the most.
  std::function<void(std::uint64_t)> progress;
  /// What the field is asked; nullptr or empty: not known. Borrowed for the time of the build.
  const QuerySample* queries = nullptr;
  /// An index of the same type, parameters and field over other rows, many of them among these: a
  /// build may start from what that one learnt. nullptr: there is none. Borrowed for the time of
  /// the build, which gives the same bytes for the same rows, seed and predecessor.
  const Searcher* predecessor = nullptr;
  /// What is left of an index of the same rows and parameters, of which some may be damaged: a
  /// build without a predecessor may give the same bytes again. nullptr: nothing.
  const Directory* former = nullptr;
};

/// One constant per type; plain function pointers.
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
