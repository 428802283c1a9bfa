// The memory of an answer, asked for while its records are read.
#pragma once

#include <cstdint>

#include "base/observe/memory_budget.h"
#include "base/result.h"
#include "engine/model/query.h"

namespace quiver::engine {

/// One thread.
class RecordMemory {
 public:
  /// kResourceExhausted or kUnavailable if there is no room for what was added so far.
  [[nodiscard]] Result<> add(const Record& record) { return memory_.add(size_bytes(record)); }

 private:
  /// Payload and vectors, in bytes.
  static std::uint64_t size_bytes(const Record& record) {
    std::uint64_t n_bytes = sizeof(Record) + (record.payload ? record.payload->size() : 0);
    if (!record.vectors) return n_bytes;
    for (const auto& vector : *record.vectors) {
      n_bytes += sizeof(vector);
      if (const auto* dense = std::get_if<DenseVector>(&vector.value)) {
        n_bytes += dense->size() * sizeof(float);
      } else if (const auto* sparse = std::get_if<SparseVector>(&vector.value)) {
        n_bytes += sparse->indices.size() * (sizeof(std::uint32_t) + sizeof(float));
      } else {
        n_bytes += std::get<MultiVector>(vector.value).values.size() * sizeof(float);
      }
    }
    return n_bytes;
  }

  /// The text of a record takes about three times as much.
  GrowingMemory memory_{"an answer", 4};
};

}  // namespace quiver::engine
