// Requests that ask which document token each query token matches.
#include <fmt/format.h>

#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

constexpr std::size_t kMaxIds = 1000;

}  // namespace

Decoded<engine::ExplainRequest> decode_explain(std::string& body) {
  const Path root;
  engine::ExplainRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(const Element query, require(object, "query", root));
  QV_TRY(request.query, decode_query_vector(query, root.member("query")));
  if (const auto name = find(object, "using")) {
    QV_TRY(request.using_field, get_string(*name, root.member("using")));
  }
  if (const auto params = find(object, "params")) {
    QV_TRY(auto decoded, decode_search_params(*params, root.member("params")));
    request.token_weights = std::move(decoded.token_weights);
  }
  QV_TRY(request.shards, decode_shards(object, root));
  const Path at_ids = root.member("ids");
  QV_TRY(const Element ids, require(object, "ids", root));
  QV_TRY(request.ids, decode_ids(ids, at_ids));
  if (request.ids.empty() || request.ids.size() > kMaxIds) {
    return validation_error(at_ids, fmt::format("number of ids {} invalid, must be from 1 to {}",
                                                request.ids.size(), kMaxIds));
  }
  return request;
}

}  // namespace quiver::service::json
