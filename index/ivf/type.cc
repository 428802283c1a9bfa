#include "index/ivf/type.h"

#include "index/ivf/files.h"
#include "index/ivf/params.h"
#include "index/ivf/searcher.h"

namespace quiver::index {
namespace {

using ivf::BuildParams;
using ivf::IvfSearcher;
using ivf::SearchParams;

bool supports(const FieldSchema& schema) {
  return schema.kind == FieldKind::kDense && schema.metric != Metric::kManhattan;
}

Result<AnyParams> parse_build(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<BuildParams>(values));
  QV_TRY(ivf::check_refine_bits(params.refine_bits));
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
  return ivf::write_files(column, params, context, out);
}

Result<std::unique_ptr<Searcher>> open(const Directory& directory, FieldColumn column) {
  QV_TRY(auto files, ivf::open_files(directory, {column.schema, column.n_rows, column.n_present}));
  return std::make_unique<IvfSearcher>(std::move(column), std::move(files.candidates),
                                       files.n_bytes);
}

}  // namespace

constinit const IndexType kIvf{"ivf", supports, parse_build, parse_search, build, open};

}  // namespace quiver::index
