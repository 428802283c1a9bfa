#include "index/dense/osq/type.h"

#include <fmt/format.h>

#include "index/dense/osq/files.h"
#include "index/dense/osq/params.h"
#include "index/dense/osq/searcher.h"

namespace quiver::index {
namespace dense::osq {

Result<> check(const OsqBuildParams& params) {
  if (params.signs == "mixed" || params.signs == "principal") return {};
  return fail(Code::kInvalidArgument,
              fmt::format("signs is \"{}\", must be mixed or principal", params.signs));
}

Result<> check(const OsqSearchParams& params) {
  for (const std::string_view known : {"hamming", "bounds", "exact"}) {
    if (params.precision == known) return {};
  }
  return fail(
      Code::kInvalidArgument,
      fmt::format("precision is \"{}\", must be hamming, bounds or exact", params.precision));
}

}  // namespace dense::osq

namespace {

using dense::osq::OsqBuildParams;
using dense::osq::OsqSearcher;
using dense::osq::OsqSearchParams;

/// Principal directions of more dimensions take minutes.
constexpr std::uint32_t kMaxOsqDim = 4096;

bool supports(const FieldSchema& schema) {
  return schema.kind == FieldKind::kDense && schema.metric != Metric::kManhattan &&
         schema.dim <= kMaxOsqDim;
}

Result<AnyParams> parse_build(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<OsqBuildParams>(values));
  QV_TRY(dense::osq::check(params));
  return AnyParams(params);
}

Result<AnyParams> parse_search(const KeyValues& values) {
  QV_TRY(const auto params, parse_params<OsqSearchParams>(values));
  QV_TRY(dense::osq::check(params));
  return AnyParams(params);
}

Result<> build(const FieldColumn& column, const AnyParams& any, const BuildContext& context,
               Directory& out) {
  QV_TRY(const OsqBuildParams* params, any.as<OsqBuildParams>());
  return dense::osq::write_file(column, *params, context, out);
}

Result<std::unique_ptr<Searcher>> open(const Directory& directory, FieldColumn column) {
  QV_TRY(auto file, dense::osq::open_file(directory, column));
  return std::make_unique<OsqSearcher>(std::move(column), std::move(file));
}

}  // namespace

constinit const IndexType kOsq{
    "osq", supports, parse_build, parse_search, describe_params<OsqSearchParams>, build, open};

}  // namespace quiver::index
