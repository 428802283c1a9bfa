#include "service/api/query_rules.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace quiver::service::api {
namespace {

using engine::Query;

tl::unexpected<Error> refuse(std::string text) {
  return fail(Code::kFailedPrecondition, std::move(text));
}

Result<> check_weights(std::string_view name, const std::vector<float>& weights,
                       std::size_t n_prefetches) {
  if (weights.empty() || weights.size() == n_prefetches) return {};
  return refuse(fmt::format("{} weights must be one per prefetch: got {} for {} prefetches", name,
                            weights.size(), n_prefetches));
}

}  // namespace

Result<> check_combination(const Query& query) {
  const bool has_query = !std::holds_alternative<engine::NoQuery>(query.kind);
  if (!has_query && query.score_threshold) {
    return refuse(
        "A query is needed to use the score_threshold. Can't have score_threshold without defining "
        "a query.");
  }
  if (query.score_threshold && std::holds_alternative<engine::OrderBy>(query.kind)) {
    return refuse("Can't use score_threshold with an order_by query.");
  }
  if (std::holds_alternative<engine::Formula>(query.kind) && query.prefetch.empty()) {
    return fail(Code::kInvalidArgument,
                "Validation failed: cannot apply Formula without prefetches");
  }
  const auto* text = std::get_if<engine::TextMatch>(&query.kind);
  if (text != nullptr && !text->keys.empty() && !query.using_field.empty()) {
    return refuse(fmt::format("A text query has either `fields` or `using`, and `using` is `{}`",
                              query.using_field));
  }
  if (!engine::is_fusion(query.kind)) return {};
  if (query.prefetch.empty()) {
    return refuse(query.using_field.empty()
                      ? "cannot apply Fusion without prefetches"
                      : "Fusion queries cannot be combined with the 'using' field.");
  }
  if (const auto* rrf = std::get_if<engine::Rrf>(&query.kind)) {
    return check_weights("RRF", rrf->weights, query.prefetch.size());
  }
  if (const auto* linear = std::get_if<engine::Linear>(&query.kind)) {
    return check_weights("linear", linear->weights, query.prefetch.size());
  }
  return {};
}

Error prefetches_without_query() {
  return Error(
      Code::kFailedPrecondition,
      "A query is needed to merge the prefetches. Can't have prefetches without defining a query.");
}

Result<> check_older(const engine::Recommend& recommend) {
  const bool is_average = recommend.strategy == engine::RecommendStrategy::kAverageVector;
  if (!recommend.positive.empty() || !(is_average || recommend.negative.empty())) return {};
  return refuse(fmt::format("At least one positive {}vector ID required with this strategy",
                            is_average ? "" : "or negative "));
}

Error discovers_nothing() {
  return Error(Code::kFailedPrecondition, "target and/or context_pairs must be specified");
}

Result<> check_page(const engine::ScrollRequest& request) {
  if (!request.offset || !request.order_by) return {};
  return refuse(
      "Cannot use an `offset` when using `order_by`. The alternative for paging is to use "
      "`order_by.start_from` and a filter to exclude the IDs that you've already seen for the "
      "`order_by.start_from` value");
}

}  // namespace quiver::service::api
