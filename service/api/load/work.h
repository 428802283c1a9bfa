// What is known of a request's work before it begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace quiver::service::api::load {

enum class Verb : std::uint8_t {
  kDecode,     ///< size: bytes of the body
  kRetrieve,   ///< size: points asked for
  kScroll,     ///< size: rows that may be read
  kCount,      ///< size: rows that may be read
  kFacet,      ///< size: rows of the collection
  kAggregate,  ///< size: rows of the collection
  kGroups,     ///< size: rows of the collection
  kQuery,      ///< size: estimated bytes to read
  kBatch,      ///< size: rows of the collection, times queries
  kLong,       ///< takes long whatever its size: a matrix of distances, learning, proposals
};
inline constexpr std::size_t kVerbs = static_cast<std::size_t>(Verb::kLong) + 1;

/// Cheap work has threads of its own, so that it never waits for expensive work to end.
enum class WorkClass : std::uint8_t { kCheap, kExpensive };

struct Work {
  Verb verb = Verb::kDecode;
  std::uint64_t size = 0;  ///< in the unit of the verb
  /// nullopt: by how long such work took before.
  std::optional<WorkClass> known_class = std::nullopt;
};

}  // namespace quiver::service::api::load
