#include "service/api/strict/unindexed.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "payload/json/document.h"
#include "payload/json/path.h"

namespace quiver::service::api::strict {
namespace {

using payload::FieldIndex;
using payload::Filter;
using payload::IndexKind;
using payload::JsonPath;
using payload::MatchScalar;

std::vector<Need> all_needs() {
  std::vector<Need> all;
  for (auto need = Need::kIntegerMatch; need <= Need::kGeo;
       need = static_cast<Need>(static_cast<int>(need) + 1)) {
    all.push_back(need);
  }
  return all;
}

/// For values of one type, at least one.
std::vector<Need> needs_of_values(const std::vector<MatchScalar>& values) {
  const auto is_uuid = [](const MatchScalar& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text != nullptr && PointId::parse_uuid(*text).has_value();
  };
  if (values.empty()) return {};  // matches nothing or everything, whatever the index
  if (std::holds_alternative<std::int64_t>(values.front())) return {Need::kIntegerMatch};
  if (std::holds_alternative<bool>(values.front())) return {Need::kBoolMatch};
  if (std::all_of(values.begin(), values.end(), is_uuid)) {
    return {Need::kUuidMatch, Need::kKeywordMatch};
  }
  return {Need::kKeywordMatch};
}

struct NeedsOf {
  std::vector<Need> operator()(const payload::MatchValue& match) const {
    return needs_of_values({match.value});
  }
  std::vector<Need> operator()(const payload::MatchAny& match) const {
    return needs_of_values(match.values);
  }
  std::vector<Need> operator()(const payload::MatchExcept& match) const {
    return needs_of_values(match.values);
  }
  std::vector<Need> operator()(const payload::MatchText&) const { return {Need::kText}; }
  std::vector<Need> operator()(const payload::MatchTextAny&) const { return {Need::kText}; }
  std::vector<Need> operator()(const payload::MatchPhrase&) const { return {Need::kTextPhrase}; }
  std::vector<Need> operator()(const payload::MatchPrefix&) const { return {Need::kKeywordPrefix}; }
  std::vector<Need> operator()(const payload::Range&) const {
    return {Need::kFloatRange, Need::kIntegerRange};
  }
  std::vector<Need> operator()(const payload::DatetimeRange&) const {
    return {Need::kDatetimeRange};
  }
  std::vector<Need> operator()(const payload::GeoBoundingBox&) const { return {Need::kGeo}; }
  std::vector<Need> operator()(const payload::GeoRadius&) const { return {Need::kGeo}; }
  std::vector<Need> operator()(const payload::GeoPolygon&) const { return {Need::kGeo}; }
  std::vector<Need> operator()(const payload::ValuesCount&) const { return all_needs(); }
  std::vector<Need> operator()(const payload::IsEmpty&) const { return all_needs(); }
  std::vector<Need> operator()(const payload::IsNull&) const { return all_needs(); }
};

/// An option of an index as its creator sent it.
bool option(const FieldIndex& index, std::string_view name, bool otherwise) {
  if (index.client_settings.find(name) == std::string::npos) return otherwise;
  const auto settings = payload::parse_json(index.client_settings);
  const auto* member = settings ? settings->find(name) : nullptr;
  const bool* value = member == nullptr ? nullptr : member->as_bool();
  return value == nullptr ? otherwise : *value;
}

bool serves(const FieldIndex& index, Need need) {
  switch (need) {
    case Need::kIntegerMatch:
      return index.kind == IndexKind::kInteger && option(index, "lookup", true);
    case Need::kIntegerRange:
      return index.kind == IndexKind::kInteger && index.range;
    case Need::kKeywordMatch:
      return index.kind == IndexKind::kKeyword;
    case Need::kKeywordPrefix:
      return index.kind == IndexKind::kKeyword && option(index, "prefix", false);
    case Need::kFloatRange:
      return index.kind == IndexKind::kFloat;
    case Need::kText:
      return index.kind == IndexKind::kText;
    case Need::kTextPhrase:
      return index.kind == IndexKind::kText && index.text.phrase_matching;
    case Need::kBoolMatch:
      return index.kind == IndexKind::kBool;
    case Need::kUuidMatch:
      return index.kind == IndexKind::kUuid;
    case Need::kDatetimeRange:
      return index.kind == IndexKind::kDatetime;
    case Need::kGeo:
      return index.kind == IndexKind::kGeo;
  }
  return false;
}

/// The kind of index as messages name it.
std::string_view kind_of(Need need) {
  switch (need) {
    case Need::kIntegerMatch:
    case Need::kIntegerRange:
      return "integer";
    case Need::kKeywordMatch:
      return "keyword";
    case Need::kKeywordPrefix:
      return "keyword (with prefix: true)";
    case Need::kFloatRange:
      return "float";
    case Need::kText:
      return "text";
    case Need::kTextPhrase:
      return "text (with phrase_matching: true)";
    case Need::kBoolMatch:
      return "bool";
    case Need::kUuidMatch:
      return "uuid";
    case Need::kDatetimeRange:
      return "datetime";
    case Need::kGeo:
      return "geo";
  }
  return "";
}

/// `key` below the array of objects `prefix`; `key` as it is if it is no path, which the search
/// itself refuses.
std::string full_key(const std::string& prefix, const std::string& key) {
  const std::string text = prefix.empty() ? key : prefix + "." + key;
  const auto path = JsonPath::parse(text);
  return path ? path->to_string() : text;
}

std::string array_key(const std::string& prefix, const std::string& key) {
  const std::string full = full_key(prefix, key);
  return full.ends_with("[]") ? full : full + "[]";
}

/// Calls `visit(key, condition)` for each condition on a payload value, until it returns true.
template <class Visit>
bool visit_fields(const Filter& filter, const std::string& prefix, const Visit& visit);

template <class Visit>
bool visit_condition(const payload::Condition& condition, const std::string& prefix,
                     const Visit& visit) {
  if (const auto* field = std::get_if<payload::FieldCondition>(&condition)) {
    return visit(full_key(prefix, field->key), field->condition);
  }
  if (const auto* nested = std::get_if<payload::Nested>(&condition)) {
    return visit_fields(*nested->filter, array_key(prefix, nested->key), visit);
  }
  const auto* inner = std::get_if<std::shared_ptr<const Filter>>(&condition);
  return inner != nullptr && visit_fields(**inner, prefix, visit);
}

template <class Visit>
bool visit_fields(const Filter& filter, const std::string& prefix, const Visit& visit) {
  static const std::vector<payload::Condition> kNone;
  for (const auto* conditions : {&filter.must, &filter.must_not, &filter.should,
                                 filter.min_should ? &filter.min_should->conditions : &kNone}) {
    for (const auto& condition : *conditions) {
      if (visit_condition(condition, prefix, visit)) return true;
    }
  }
  return false;
}

}  // namespace

const FieldIndex* index_of(std::string_view key, const std::vector<FieldIndex>& indexes) {
  const std::string wanted = full_key({}, std::string(key));
  const auto is_same = [&](const FieldIndex& index) { return full_key({}, index.key) == wanted; };
  const auto found = std::find_if(indexes.begin(), indexes.end(), is_same);
  return found == indexes.end() ? nullptr : &*found;
}

bool is_indexed(std::string_view key, const std::vector<Need>& needs,
                const std::vector<FieldIndex>& indexes) {
  const FieldIndex* index = index_of(key, indexes);
  if (index == nullptr) return false;
  return std::any_of(needs.begin(), needs.end(), [&](Need need) { return serves(*index, need); });
}

std::optional<Unindexed> first_unindexed(const Filter& filter,
                                         const std::vector<FieldIndex>& indexes) {
  std::optional<Unindexed> found;
  visit_fields(filter, {}, [&](const std::string& key, const payload::ValueCondition& condition) {
    auto needs = std::visit(NeedsOf(), condition);
    if (needs.empty() || is_indexed(key, needs, indexes)) return false;
    found = Unindexed{key, std::move(needs)};
    return true;
  });
  return found;
}

std::string index_kinds(const std::vector<Need>& needs) {
  std::set<std::string_view> kinds;
  for (const Need need : needs) kinds.insert(kind_of(need));
  return fmt::format("{}", fmt::join(kinds, ", "));
}

bool names_tenant(const Filter& filter, const std::vector<FieldIndex>& indexes) {
  return visit_fields(filter, {}, [&](const std::string& key, const payload::ValueCondition&) {
    const FieldIndex* index = index_of(key, indexes);
    return index != nullptr && option(*index, "is_tenant", false);
  });
}

}  // namespace quiver::service::api::strict
