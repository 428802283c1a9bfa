// Requests for counts, statistics and histograms of payload values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "payload/json/path.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

using engine::Aggregation;

constexpr std::size_t kMaxAggregations = 100;
constexpr std::uint64_t kMaxTerms = 10'000;

Decoded<std::string> decode_key(Object object, const Path& path) {
  QV_TRY(const Element element, require(object, "key", path));
  const Path here = path.member("key");
  QV_TRY(const std::string_view key, get_string(element, here));
  if (const auto valid = payload::JsonPath::parse(key); !valid) {
    return format_error(here, valid.error().message());
  }
  return std::string(key);
}

Decoded<Aggregation> decode_count_of_points(Object object, const Path& path) {
  QV_TRY(check_members(object, path, {}));
  return engine::CountAggregation();
}

Decoded<Aggregation> decode_terms(Object object, const Path& path) {
  QV_TRY(check_members(object, path, {"key", "limit"}));
  engine::TermsAggregation terms;
  QV_TRY(terms.key, decode_key(object, path));
  QV_TRY(terms.limit, decode_at_least(object, "limit", path, 1, terms.limit));
  if (terms.limit > kMaxTerms) {
    return out_of_range(path.member("limit"), std::to_string(terms.limit),
                        fmt::format("from 1 to {}", kMaxTerms));
  }
  return terms;
}

Decoded<Aggregation> decode_cardinality(Object object, const Path& path) {
  QV_TRY(check_members(object, path, {"key"}));
  QV_TRY(auto key, decode_key(object, path));
  return engine::CardinalityAggregation{std::move(key)};
}

Decoded<Aggregation> decode_stats(Object object, const Path& path) {
  QV_TRY(check_members(object, path, {"key"}));
  QV_TRY(auto key, decode_key(object, path));
  return engine::StatsAggregation{std::move(key)};
}

Decoded<Aggregation> decode_histogram(Object object, const Path& path) {
  QV_TRY(check_members(object, path, {"key", "interval", "offset"}));
  payload::NumberBuckets buckets;
  QV_TRY(auto key, decode_key(object, path));
  QV_TRY(const Element interval, require(object, "interval", path));
  const Path at_interval = path.member("interval");
  QV_TRY(buckets.interval, get_f64(interval, at_interval));
  if (!(buckets.interval > 0)) {
    return out_of_range(at_interval, fmt::format("{}", buckets.interval), "above 0");
  }
  if (const auto offset = find(object, "offset")) {
    QV_TRY(buckets.offset, get_f64(*offset, path.member("offset")));
  }
  return engine::HistogramAggregation{std::move(key), buckets};
}

Decoded<Aggregation> decode_date_histogram(Object object, const Path& path) {
  constexpr std::array<std::string_view, 4> kUnits = {"year", "month", "day", "hour"};
  QV_TRY(check_members(object, path, {"key", "calendar"}));
  QV_TRY(auto key, decode_key(object, path));
  QV_TRY(const Element element, require(object, "calendar", path));
  const Path here = path.member("calendar");
  QV_TRY(const std::string_view text, get_string(element, here));
  const auto unit = std::find(kUnits.begin(), kUnits.end(), text);
  if (unit == kUnits.end()) {
    return format_error(
        here, fmt::format("unknown unit `{}`, expected `year`, `month`, `day` or `hour`", text));
  }
  const payload::CalendarBuckets buckets{static_cast<payload::CalendarUnit>(unit - kUnits.begin())};
  return engine::HistogramAggregation{std::move(key), buckets};
}

struct Kind {
  std::string_view name;
  Decoded<Aggregation> (*decode)(Object, const Path&);
};
constexpr std::array<Kind, 6> kKinds = {{{"count", decode_count_of_points},
                                         {"terms", decode_terms},
                                         {"cardinality", decode_cardinality},
                                         {"stats", decode_stats},
                                         {"histogram", decode_histogram},
                                         {"date_histogram", decode_date_histogram}}};

/// An object with one member, whose name is the kind.
Decoded<Aggregation> decode_aggregation(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  if (object.size() != 1) {
    return format_error(path, fmt::format("an aggregation has 1 member, its kind; found {} members",
                                          object.size()));
  }
  const auto [name, value] = *object.begin();
  for (const Kind& kind : kKinds) {
    if (kind.name != name) continue;
    const Path here = path.member(name);
    QV_TRY(const Object settings, get_object(value, here));
    return kind.decode(settings, here);
  }
  return format_error(path, fmt::format("unknown aggregation `{}`, expected `count`, `terms`, "
                                        "`cardinality`, `stats`, `histogram` or `date_histogram`",
                                        name));
}

}  // namespace

Decoded<engine::AggregateRequest> decode_aggregate(std::string& body) {
  const Path root;
  engine::AggregateRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root, {"filter", "aggregations", "shard_key"}));
  QV_TRY(request.filter, decode_optional_filter(object, "filter", root));
  QV_TRY(request.shards, decode_shards(object, root));
  QV_TRY(const Element element, require(object, "aggregations", root));
  const Path here = root.member("aggregations");
  QV_TRY(const Object aggregations, get_object(element, here));
  if (aggregations.size() == 0 || aggregations.size() > kMaxAggregations) {
    return validation_error(here, fmt::format("number of aggregations {} invalid, must be from 1 "
                                              "to {}",
                                              aggregations.size(), kMaxAggregations));
  }
  for (const auto field : aggregations) {
    const bool is_repeated =
        std::any_of(request.aggregations.begin(), request.aggregations.end(),
                    [&](const auto& other) { return other.first == field.key; });
    if (is_repeated) return format_error(here, fmt::format("duplicate name `{}`", field.key));
    QV_TRY(auto aggregation, decode_aggregation(field.value, here.member(field.key)));
    request.aggregations.emplace_back(std::string(field.key), std::move(aggregation));
  }
  return request;
}

}  // namespace quiver::service::json
