// Which keys of a filter no payload index serves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "payload/filter.h"
#include "payload/schema.h"

namespace quiver::service::api::strict {

/// What a condition asks of a payload index.
enum class Need : std::uint8_t {
  kIntegerMatch,
  kIntegerRange,
  kKeywordMatch,
  kKeywordPrefix,
  kFloatRange,
  kText,
  kTextPhrase,
  kBoolMatch,
  kUuidMatch,
  kDatetimeRange,
  kGeo,
};

struct Unindexed {
  std::string key;          ///< canonical path, from the root of the document
  std::vector<Need> needs;  ///< an index that serves one of them would do
};

/// The first key of `filter` that has no index to serve it. nullopt: every key has one.
[[nodiscard]] std::optional<Unindexed> first_unindexed(
    const payload::Filter& filter, const std::vector<payload::FieldIndex>& indexes);

/// True if an index of `key` serves one of `needs`.
[[nodiscard]] bool is_indexed(std::string_view key, const std::vector<Need>& needs,
                              const std::vector<payload::FieldIndex>& indexes);

/// "integer, keyword": the kinds of index that serve `needs`, sorted.
[[nodiscard]] std::string index_kinds(const std::vector<Need>& needs);

/// The index of `key`, spelled in any way; nullptr if there is none.
[[nodiscard]] const payload::FieldIndex* index_of(std::string_view key,
                                                  const std::vector<payload::FieldIndex>& indexes);

/// True if a condition of `filter` is on a key whose index was declared with `is_tenant`.
[[nodiscard]] bool names_tenant(const payload::Filter& filter,
                                const std::vector<payload::FieldIndex>& indexes);

}  // namespace quiver::service::api::strict
