// Which parts of a collection's files are kept in memory, and how firmly.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "base/schema.h"
#include "payload/schema.h"

namespace quiver::engine {

struct FieldPlacement {
  MemoryPlacement vectors = MemoryPlacement::kCached;
  MemoryPlacement index = MemoryPlacement::kCached;

  bool operator==(const FieldPlacement&) const = default;
};

/// The `memory` and `on_disk` settings of a collection. docs/collections.md explains them.
struct MemoryPlan {
  MemoryPlacement ids = MemoryPlacement::kCached;
  MemoryPlacement payloads = MemoryPlacement::kCached;
  /// By name of the field; fields that are not named are cached.
  std::map<std::string, FieldPlacement, std::less<>> fields;
  /// Payload indexes by key; others are cached.
  std::map<std::string, MemoryPlacement, std::less<>> columns;

  [[nodiscard]] FieldPlacement field(std::string_view name) const;
  [[nodiscard]] MemoryPlacement column(std::string_view key) const;
  bool operator==(const MemoryPlan&) const = default;
};

/// What `client_settings`, the JSON of a collection's creator, and the settings of its payload
/// indexes ask for.
[[nodiscard]] MemoryPlan memory_plan_of(std::string_view client_settings,
                                        const std::vector<FieldSchema>& fields,
                                        const std::vector<payload::FieldIndex>& indexes);

}  // namespace quiver::engine
