#include "index/exact/type.h"

#include "index/exact/params.h"
#include "index/exact/searcher.h"

namespace quiver::index {
namespace {

bool supports(const FieldSchema&) { return true; }

Result<AnyParams> parse_build(const KeyValues& values) {
  QV_TRY(auto params, parse_params<FlatBuildParams>(values));
  return AnyParams(params);
}

Result<AnyParams> parse_search(const KeyValues& values) {
  QV_TRY(auto params, parse_params<FlatSearchParams>(values));
  return AnyParams(params);
}

/// The rows are the index; nothing is written.
Result<> build(const FieldColumn&, const AnyParams&, const BuildContext&, Directory&) { return {}; }

Result<std::unique_ptr<Searcher>> open(const Directory&, FieldColumn column) {
  return std::make_unique<FlatSearcher>(std::move(column));
}

}  // namespace

constinit const IndexType kFlat{
    "flat", supports, parse_build, parse_search, describe_params<FlatSearchParams>, build, open};

}  // namespace quiver::index
