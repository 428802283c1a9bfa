// Measuring recall.
#include <fmt/format.h>

#include "engine/model/recall.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {

Decoded<engine::RecallRequest> decode_recall_request(std::string& body) {
  const Path root;
  engine::RecallRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root, {"using", "queries", "sample"}));
  if (const auto using_field = find(object, "using")) {
    QV_TRY(request.using_field, get_string(*using_field, root.member("using")));
  }
  const auto is_number_of_queries = [](std::uint64_t n) {
    return n >= engine::kMinRecallQueries && n <= engine::kMaxRecallQueries;
  };
  const std::string wanted =
      fmt::format("{} to {}", engine::kMinRecallQueries, engine::kMaxRecallQueries);
  QV_TRY(request.sample, decode_at_least(object, "sample", root, 1, request.sample));
  if (!is_number_of_queries(request.sample)) {
    return out_of_range(root.member("sample"), std::to_string(request.sample), wanted);
  }
  if (const auto queries = find(object, "queries")) {
    const Path here = root.member("queries");
    QV_TRY(const Array array, get_array(*queries, here));
    if (!is_number_of_queries(array.size())) {
      return out_of_range(here, fmt::format("of {} queries", array.size()), wanted);
    }
    for (const Element item : array) {
      QV_TRY(auto query, decode_query_vector(item, here.item(request.queries.size())));
      request.queries.push_back(std::move(query));
    }
  }
  return request;
}

}  // namespace quiver::service::json
