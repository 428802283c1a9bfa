#include "index/dense/type.h"

#include "index/dense/files.h"
#include "index/dense/params.h"
#include "index/dense/searcher.h"

namespace quiver::index {
namespace {

using dense::DenseBuildParams;
using dense::DenseSearcher;
using dense::DenseSearchParams;

bool supports(const FieldSchema& schema) {
  return schema.kind == FieldKind::kDense && schema.metric != Metric::kManhattan;
}

Result<AnyParams> parse_build(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<DenseBuildParams>(values));
  QV_TRY(dense::check(params));
  return AnyParams(params);
}

Result<AnyParams> parse_search(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<DenseSearchParams>(values));
  return AnyParams(params);
}

Result<> build(const FieldColumn& column, const AnyParams& any, const BuildContext& context,
               Directory& out) {
  QV_TRY(const DenseBuildParams* params, any.as<DenseBuildParams>());
  const auto* predecessor = dynamic_cast<const DenseSearcher*>(context.predecessor);
  const auto* older = predecessor == nullptr ? nullptr : &predecessor->lists();
  return dense::write_files(column, *params, older, context, out);
}

Result<std::unique_ptr<Searcher>> open(const Directory& directory, FieldColumn column) {
  QV_TRY(auto files, dense::open_files(directory, column));
  return std::make_unique<DenseSearcher>(std::move(column), std::move(files));
}

}  // namespace

constinit const IndexType kIvf{
    "ivf", supports, parse_build, parse_search, describe_params<DenseSearchParams>, build, open};

}  // namespace quiver::index
