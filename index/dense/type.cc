#include "index/dense/type.h"

#include "index/dense/files.h"
#include "index/dense/params.h"
#include "index/dense/searcher.h"

namespace quiver::index {
namespace {

using dense::BuildParams;
using dense::DenseSearcher;
using dense::SearchParams;

bool supports(const FieldSchema& schema) {
  return schema.kind == FieldKind::kDense && schema.metric != Metric::kManhattan;
}

Result<AnyParams> parse_build(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<BuildParams>(values));
  QV_TRY(dense::check(params));
  return AnyParams(params);
}

Result<AnyParams> parse_search(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<SearchParams>(values));
  return AnyParams(params);
}

Result<> build(const FieldColumn& column, const AnyParams& any, const BuildContext& context,
               Directory& out) {
  const auto* given = std::any_cast<BuildParams>(&any);
  const auto* predecessor = dynamic_cast<const DenseSearcher*>(context.predecessor);
  const auto* older = predecessor == nullptr ? nullptr : &predecessor->lists();
  return dense::write_files(column, given == nullptr ? BuildParams{} : *given, older, context, out);
}

Result<std::unique_ptr<Searcher>> open(const Directory& directory, FieldColumn column) {
  QV_TRY(auto files, dense::open_files(directory, column));
  return std::make_unique<DenseSearcher>(std::move(column), std::move(files));
}

}  // namespace

constinit const IndexType kIvf{"ivf", supports, parse_build, parse_search, build, open};

}  // namespace quiver::index
