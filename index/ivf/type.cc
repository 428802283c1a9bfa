#include "index/ivf/type.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "index/ivf/params.h"
#include "index/ivf/searcher.h"

namespace quiver::index {
namespace {

using ivf::BuildParams;
using ivf::ByteRows;
using ivf::IvfSearcher;
using ivf::Partition;
using ivf::SearchParams;

constexpr std::string_view kFile = "lists.qvx";
constexpr SectionFormat kFormat{"dense index", "QVIVF001", "QVIVFEND", 1};
/// There if the index has second codes, which the first file tells.
constexpr std::string_view kSecondFile = "rows.qvx";
constexpr SectionFormat kSecondFormat{"dense index's second codes", "QVIVFROW", "QVIVFREN", 1};

bool supports(const FieldSchema& schema) {
  return schema.kind == FieldKind::kDense && schema.metric != Metric::kManhattan;
}

Result<AnyParams> parse_build(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<BuildParams>(values));
  if (params.refine_bits != 0 && params.refine_bits != 8) {
    return fail(Code::kInvalidArgument,
                fmt::format("refine_bits is {}, must be 8 or 0", params.refine_bits));
  }
  return AnyParams(params);
}

Result<AnyParams> parse_search(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<SearchParams>(values));
  return AnyParams(params);
}

Result<> build(const FieldColumn& column, const AnyParams& any, const BuildContext& context,
               Directory& out) {
  const auto* given = std::any_cast<BuildParams>(&any);
  auto params = given == nullptr ? BuildParams{} : *given;
  if (column.dense().dtype == DType::kU8) params.refine_bits = 0;
  const encoders::Rotation rotation(column.dense().dim, context.seed);
  const ivf::RowSource source(column, rotation);
  if (params.refine_bits != 0) {
    QV_TRY(auto file, out.create_file(kSecondFile));
    SectionWriter writer(kSecondFormat, std::move(file));
    QV_TRY(ByteRows::write(source, column.n_rows, context, writer));
    QV_TRY(writer.finish(column.n_rows));
  }
  QV_TRY(auto file, out.create_file(kFile));
  SectionWriter writer(kFormat, std::move(file));
  QV_TRY(Partition::write(source, params, context, writer));
  return writer.finish(column.n_rows);
}

Result<SectionReader> open_file(const Directory& directory, std::string_view name,
                                const SectionFormat& format, std::uint32_t n_rows,
                                std::uint64_t& n_bytes) {
  QV_TRY(auto file, directory.open_mapped(std::string(name)));
  n_bytes += file->bytes().size();
  QV_TRY(auto reader, SectionReader::open(format, std::move(file), directory.path()));
  if (reader.n_rows() != n_rows) {
    return reader.damaged(fmt::format("{} rows, expected {}", reader.n_rows(), n_rows));
  }
  return reader;
}

Result<std::unique_ptr<Searcher>> open(const Directory& directory, FieldColumn column) {
  std::uint64_t n_bytes = 0;
  QV_TRY(const auto reader, open_file(directory, kFile, kFormat, column.n_rows, n_bytes));
  QV_TRY(auto lists, Partition::open(reader, column.schema, column.n_rows));
  std::optional<ByteRows> second;
  if (lists.facts().refine_bits != 0) {
    QV_TRY(const auto rows,
           open_file(directory, kSecondFile, kSecondFormat, column.n_rows, n_bytes));
    QV_TRY(second, ByteRows::open(rows, similarity_of(column.schema.metric),
                                  lists.facts().padded_dim, column.n_rows));
  }
  return std::make_unique<IvfSearcher>(std::move(column), std::move(lists), std::move(second),
                                       n_bytes);
}

}  // namespace

constinit const IndexType kIvf{"ivf", supports, parse_build, parse_search, build, open};

}  // namespace quiver::index
