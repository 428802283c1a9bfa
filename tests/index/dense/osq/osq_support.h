// What tests of the OSQ index share.
#pragma once

#include <string>
#include <utility>

#include "tests/index/dense/dense_support.h"

namespace quiver::index::testing {

inline constexpr std::uint64_t kOsqSeed = 20250203;

[[nodiscard]] inline const IndexType& osq_type() { return *find_index_type("osq"); }

struct OsqIndex : BuiltIndex {
  explicit OsqIndex(FieldColumn rows, const KeyValues& values = {})
      : BuiltIndex(osq_type(), std::move(rows), values, kOsqSeed) {}
};

[[nodiscard]] inline KeyValues partitions(std::int64_t n) { return {{"partitions", n}}; }

[[nodiscard]] inline KeyValues precision(const char* word) {
  return {{"precision", std::string(word)}};
}

}  // namespace quiver::index::testing
