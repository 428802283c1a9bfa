#include "index/sparse/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/observe/log.h"
#include "base/observe/memory_budget.h"
#include "index/cost.h"
#include "index/index_file.h"
#include "index/progress.h"
#include "index/sparse/params.h"
#include "index/sparse/rows/sections.h"
#include "index/sparse/searcher.h"

namespace quiver::index {
namespace {

using sparse::Blocks;
using sparse::Codec;
using sparse::ImpactLists;
using sparse::Method;
using sparse::Records;
using sparse::SparseBuildParams;
using sparse::SparseParts;
using sparse::SparseSearcher;
using sparse::SparseSearchOptions;
using sparse::SparseSearchParams;
using sparse::TermMap;

constexpr std::string_view kFile = "lists.qvx";
constexpr SectionFormat kFormat{"sparse index", "QVSEISM1", "QVSEIEND"};

bool supports(const FieldSchema& schema) { return schema.kind == FieldKind::kSparse; }

Result<Codec> parse_codec(const std::string& name) {
  if (name == "u8") return Codec::kU8;
  if (name == "f16") return Codec::kF16;
  if (name == "f32") return Codec::kF32;
  if (name == "gaps") return Codec::kGaps;
  return fail(Code::kInvalidArgument,
              fmt::format("codec is \"{}\", must be u8, gaps, f16 or f32", name));
}

Result<AnyParams> parse_build(const KeyValues& values) {
  QV_TRY(auto params, parse_params<SparseBuildParams>(values));
  QV_TRY(parse_codec(params.codec));
  QV_TRY(sparse::check(params));
  return AnyParams(params);
}

Result<Method> parse_method(const std::string& name) {
  if (name == "auto") return Method::kAuto;
  if (name == "scan") return Method::kScan;
  if (name == "blocks") return Method::kBlocks;
  if (name == "exact") return Method::kExact;
  return fail(Code::kInvalidArgument,
              fmt::format("method is \"{}\", must be auto, scan, blocks or exact", name));
}

/// Applies `effort` (params.h).
void spend(std::uint32_t effort, SparseSearchOptions& options) {
  options.postings = std::min(1.0, effort / cost::kSparseFullEffort);
  options.blocks.query_cut = std::clamp(effort / 12, 2U, 64U);
  options.blocks.heap_factor = std::clamp(1.1F - static_cast<float>(effort) / 640, 0.6F, 1.1F);
}

Result<AnyParams> parse_search(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<SparseSearchParams>(values));
  SparseSearchOptions options;
  QV_TRY(options.method, parse_method(params.method));
  options.postings = params.postings;
  options.candidates = params.candidates;
  options.exact_below = params.exact_below;
  options.rescore = params.rescore;
  options.blocks = params;
  if (params.effort != 0) spend(params.effort, options);
  return AnyParams(options);
}

/// Share of the progress at which the lists are written, in a build with blocks.
constexpr double kListsShare = 0.1;

/// Indices and values, in bytes.
std::uint64_t bytes_of(const FieldColumn& column) {
  return column.sparse().indices.size() * (sizeof(std::uint32_t) + sizeof(float));
}

/// True, with the promise of it, if there is memory for the blocks of the rows. Measured: 11 to 17
/// times the bytes of 100,000 rows, 5 times those of a million.
bool has_memory(const FieldColumn& column, MemoryPromise& memory) {
  constexpr std::uint64_t kOfFewRows = 20;
  constexpr std::uint64_t kOfManyRows = 4;
  constexpr std::uint64_t kManyRowsBytes = std::uint64_t{1600} << 20;
  const std::uint64_t n_bytes = bytes_of(column);
  auto promise = process_memory().promise(
      std::min(kOfFewRows * n_bytes, kManyRowsBytes + kOfManyRows * n_bytes),
      "the blocks of a sparse index");
  if (promise) {
    memory = *std::move(promise);
    return true;
  }
  log_warning("field `{}`: its index gets no blocks: {}", column.schema.name,
              promise.error().message());
  return false;
}

Result<> build(const FieldColumn& column, const AnyParams& any, const BuildContext& context,
               Directory& out) {
  QV_TRY(const SparseBuildParams* params, any.as<SparseBuildParams>());
  QV_TRY(const Codec codec, parse_codec(params->codec));
  QV_TRY(auto file, out.create_file(kFile));
  SectionWriter writer(kFormat, std::move(file));
  const SparseColumn& rows = column.sparse();
  const TermMap terms = TermMap::of(rows, 0, column.n_rows);
  writer.section(sparse::kTermKeys, terms.keys().span());
  MemoryPromise memory;
  const bool with_blocks = column.n_rows >= params->blocks_from && has_memory(column, memory);
  QV_TRY(ImpactLists::write(rows, column.n_rows, terms,
                            part_of(context, column.n_rows, 0, with_blocks ? kListsShare : 1),
                            writer));
  const auto records = Records::build(rows, column.n_rows, terms, codec);
  records.write(writer);
  QV_TRY(context.cancel.check());
  if (with_blocks) {
    QV_TRY(const auto blocks, Blocks::build(rows, column.n_rows, terms, records, *params,
                                            part_of(context, column.n_rows, kListsShare, 1)));
    blocks.write(writer);
  }
  return writer.finish(column.n_rows);
}

Result<std::unique_ptr<Searcher>> open(const Directory& directory, FieldColumn column) {
  SparseParts parts;
  QV_TRY(const auto reader,
         open_index_file(directory, kFile, kFormat, column.n_rows, parts.mapped_bytes));
  QV_TRY(auto keys, reader.get<TermMap::Key>(sparse::kTermKeys));
  if (!std::is_sorted(keys.begin(), keys.end(), std::less_equal<>())) {
    return reader.damaged("terms do not ascend");
  }
  parts.terms = TermMap(std::move(keys));
  QV_TRY(parts.lists, ImpactLists::open(reader, column.n_rows, parts.terms.size()));
  QV_TRY(parts.records, Records::open(reader, column.n_rows, parts.terms.size()));
  if (reader.has(sparse::kBlockFacts)) {
    QV_TRY(parts.blocks, Blocks::open(reader, column.n_rows, parts.terms.size()));
  }
  return std::make_unique<SparseSearcher>(std::move(column), std::move(parts));
}

}  // namespace

constinit const IndexType kSeismic{
    "seismic", supports, parse_build, parse_search, describe_params<SparseSearchParams>,
    build,     open};

}  // namespace quiver::index
