// An index type for tests of what the engine does with indexes. Its file is a checked copy of the
// rows' bytes; it answers exactly, and leaves a mark in the work counters.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/io/section_file.h"
#include "engine/indexing/indexes.h"
#include "index/exact/searcher.h"
#include "index/index.h"

namespace quiver::engine::testing {

struct CopiedBuildParams {
  static constexpr std::string_view kWhat = "build parameters of `copied`";
  std::uint32_t bits = 8;
  template <class V>
  static constexpr void fields(V&& v) {
    v(field("bits", &CopiedBuildParams::bits, {.min = 1, .max = 8}));
  }
};
struct CopiedSearchParams {
  static constexpr std::string_view kWhat = "search parameters of `copied`";
  std::uint32_t effort = 1;
  bool loud = false;
  template <class V>
  static constexpr void fields(V&& v) {
    v(field("effort", &CopiedSearchParams::effort, {.min = 1, .max = 2000}));
    v(field("loud", &CopiedSearchParams::loud));
  }
};

/// What builds do, for all tests of a process.
struct CopiedControl {
  std::atomic<int> n_builds = 0;
  std::atomic<bool> hold =
      false;  ///< builds wait, half done, until it is false or they are stopped
  std::atomic<bool> fail = false;
  std::atomic<bool> misses = false;         ///< searches of usual effort find nothing until a build
  std::atomic<bool> misses_always = false;  ///< and after it
  std::atomic<int> n_thorough = 0;          ///< searches of more than usual effort
  std::atomic<std::uint32_t> last_bits = 0;         ///< that a build was told
  std::atomic<std::size_t> last_queries = 0;        ///< in the sample that a build was given
  std::atomic<bool> last_had_devices = false;       ///< whether a build was given devices
  std::atomic<int> n_carried = 0;                   ///< builds that were given a predecessor
  std::atomic<std::uint32_t> last_predecessor = 0;  ///< rows of the one that it was given, or 0
};
inline CopiedControl copied_control;

/// Adds one list to the work of each query, and its `effort` in blocks.
class CopiedSearcher final : public index::Searcher {
 public:
  explicit CopiedSearcher(index::FieldColumn column)
      : n_rows_(column.n_rows), flat_(std::move(column)) {}
  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }

  Result<> search(const index::PreparedQuery& query, const index::AnyParams& params,
                  const index::RowFilter& filter, const index::SearchContext& context,
                  index::TopK& out, index::WorkCounters& work) const override {
    work.n_lists += 1;
    QV_TRY(const auto* given, params.as<CopiedSearchParams>());
    const auto effort = given->effort;
    work.n_blocks += effort;
    const bool is_usual = effort == CopiedSearchParams().effort;
    if (!is_usual) ++copied_control.n_thorough;
    if (is_usual && copied_control.misses) return {};
    return flat_.search(query, {}, filter, context, out, work);
  }
  Result<> count_terms(std::span<const std::uint32_t> terms, const index::RowFilter& filter,
                       std::span<std::uint64_t> counts, const Cancel& cancel) const override {
    return flat_.count_terms(terms, filter, counts, cancel);
  }
  [[nodiscard]] std::uint64_t bytes_per_search() const override { return flat_.bytes_per_search(); }
  [[nodiscard]] index::MemoryUse memory() const override { return {sizeof(*this), 0}; }

 private:
  std::uint32_t n_rows_;
  index::FlatSearcher flat_;
};

namespace copied {

inline constexpr SectionFormat kFormat{"copied index", "QVCOPY01", "QVCOPEND"};

inline Bytes value_bytes(const index::FieldColumn& column) {
  switch (column.schema.kind) {
    case FieldKind::kDense:
      return column.dense().bytes.span();
    case FieldKind::kSparse:
      return std::as_bytes(column.sparse().values.span());
    case FieldKind::kMulti:
      return column.multi().tokens.bytes.span();
  }
  return {};
}

inline Result<> build(const index::FieldColumn& column, const index::AnyParams& params,
                      const index::BuildContext& context, Directory& out) {
  ++copied_control.n_builds;
  if (!copied_control.misses_always) copied_control.misses = false;
  QV_TRY(const auto* given, params.as<CopiedBuildParams>());
  copied_control.last_bits = given->bits;
  copied_control.last_had_devices = context.devices != nullptr;
  copied_control.last_queries = context.queries == nullptr ? 0 : context.queries->queries.size();
  const auto* predecessor = dynamic_cast<const CopiedSearcher*>(context.predecessor);
  copied_control.last_predecessor = predecessor == nullptr ? 0 : predecessor->n_rows();
  if (predecessor != nullptr) ++copied_control.n_carried;
  QV_TRY(auto file, out.create_file("copy"));
  SectionWriter writer(kFormat, std::move(file));
  writer.section(1, value_bytes(column));
  if (context.progress) context.progress(column.n_rows / 2);
  while (copied_control.hold && !context.cancel.poll()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  QV_TRY(context.cancel.check());
  if (copied_control.fail) return fail(Code::kInternal, "the build was told to fail");
  return writer.finish(column.n_rows);
}

inline Result<std::unique_ptr<index::Searcher>> open(const Directory& directory,
                                                     index::FieldColumn column) {
  QV_TRY(const auto reader, SectionReader::open(kFormat, directory, "copy"));
  QV_TRY(const auto copy, reader.get<std::byte>(1));
  const Bytes wanted = value_bytes(column);
  if (!std::equal(copy.begin(), copy.end(), wanted.begin(), wanted.end())) {
    return reader.damaged("it is of other rows");
  }
  return std::make_unique<CopiedSearcher>(std::move(column));
}

template <class Params>
Result<index::AnyParams> parse(const KeyValues& values) {
  QV_TRY(auto params, parse_params<Params>(values));
  return index::AnyParams(params);
}

}  // namespace copied

inline constinit const index::IndexType kCopied{"copied",
                                                [](const FieldSchema&) { return true; },
                                                copied::parse<CopiedBuildParams>,
                                                copied::parse<CopiedSearchParams>,
                                                describe_params<CopiedSearchParams>,
                                                copied::build,
                                                copied::open};

inline const index::IndexType* copied_index(const FieldSchema&) { return &kCopied; }

/// An index for each kind of field: the real one, or a copy where there is none yet.
inline const index::IndexType* some_index(const FieldSchema& schema) {
  const auto* type = default_index(schema);
  return type == flat_index() ? &kCopied : type;
}

}  // namespace quiver::engine::testing
