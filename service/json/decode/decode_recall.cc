// Measuring recall.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "engine/model/recall.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {

namespace {

using engine::RecallSource;

Decoded<std::optional<RecallSource>> decode_source(Object object, const Path& path) {
  const auto from = find(object, "from");
  if (!from) return std::nullopt;
  const Path here = path.member("from");
  QV_TRY(const auto name, get_string(*from, here));
  for (const auto source : {RecallSource::kRecorded, RecallSource::kSynthetic}) {
    if (name == to_string(source)) return source;
  }
  return format_error(
      here, fmt::format("unknown variant `{}`, expected one of `recorded`, `synthetic`", name));
}

/// Members that would be ignored are errors. A `sample` without `from` is one of made queries.
Decoded<> settle_source(Object object, const Path& path, engine::RecallRequest& request) {
  const auto sample = find(object, "sample");
  if (request.source && !request.queries.empty()) {
    return format_error(path.member("from"), "there are `queries`, which have another origin");
  }
  if (request.source == RecallSource::kRecorded && sample) {
    return format_error(path.member("sample"), "is for made queries, not for recorded ones");
  }
  if (sample && request.queries.empty()) request.source = RecallSource::kSynthetic;
  return {};
}

}  // namespace

Decoded<engine::RecallRequest> decode_recall_request(std::string& body) {
  const Path root;
  engine::RecallRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root, {"using", "queries", "sample", "from"}));
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
  QV_TRY(request.source, decode_source(object, root));
  QV_TRY(settle_source(object, root, request));
  return request;
}

}  // namespace quiver::service::json
