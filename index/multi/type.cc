#include "index/multi/type.h"

#include <fmt/format.h>

#include "index/dense/lists/search/lists_files.h"
#include "index/multi/build.h"
#include "index/multi/searcher.h"
#include "index/multi/stages/params.h"

namespace quiver::index {
namespace {

using multi::MultiBuildParams;
using multi::MultiSearcher;
using multi::MultiSearchOptions;
using multi::MultiSearchParams;
using multi::Rerank;

bool supports(const FieldSchema& schema) {
  return schema.kind == FieldKind::kMulti && !is_distance(schema.metric);
}

Result<AnyParams> parse_build(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<MultiBuildParams>(values));
  QV_TRY(multi::check(params));
  return AnyParams(params);
}

Result<Rerank> parse_rerank(const std::string& name) {
  if (name == "full") return Rerank::kFull;
  if (name == "codes") return Rerank::kCodes;
  if (name == "none") return Rerank::kNone;
  return fail(Code::kInvalidArgument,
              fmt::format("rerank is \"{}\", must be full, codes or none", name));
}

Result<AnyParams> parse_search(const KeyValues& values) {
  MultiSearchOptions options;
  QV_TRY(options.params, parse_params<MultiSearchParams>(values));
  QV_TRY(options.rerank, parse_rerank(options.params.rerank));
  return AnyParams(options);
}

Result<> build(const FieldColumn& column, const AnyParams& any, const BuildContext& context,
               Directory& out) {
  QV_TRY(const MultiBuildParams* params, any.as<MultiBuildParams>());
  return multi::build_files(column, *params, context, out);
}

Result<std::unique_ptr<Searcher>> open(const Directory& directory, FieldColumn column) {
  QV_TRY(auto parts, multi::open_files(directory, column));
  return std::make_unique<MultiSearcher>(std::move(column), std::move(parts));
}

}  // namespace

constinit const IndexType kMulti{
    "multi", supports, parse_build, parse_search, describe_params<MultiSearchParams>, build, open};

}  // namespace quiver::index
