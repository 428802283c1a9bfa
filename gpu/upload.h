// What a device holds of rows, documents, lists, second codes and runs of postings: its shape, and
// the copying.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device.h"
#include "gpu/devices.h"

namespace quiver::gpu {

[[nodiscard]] qv_part_shape shape_of(const DenseRows& rows);
[[nodiscard]] qv_part_shape shape_of(const Documents& documents);
[[nodiscard]] qv_part_shape shape_of(const CodeLists& lists);
[[nodiscard]] qv_part_shape shape_of(const ByteCodes& codes);
[[nodiscard]] qv_part_shape shape_of(const ImpactRuns& runs);

/// At least the bytes of the part, without a look at each document.
[[nodiscard]] std::uint64_t most_bytes(const DenseRows& rows);
[[nodiscard]] std::uint64_t most_bytes(const Documents& documents);
[[nodiscard]] std::uint64_t most_bytes(const CodeLists& lists);
[[nodiscard]] std::uint64_t most_bytes(const ByteCodes& codes);
[[nodiscard]] std::uint64_t most_bytes(const ImpactRuns& runs);

enum class Filled : std::uint8_t {
  kDone,
  kNoCodes,  ///< values that a device cannot have
  kNot,      ///< the device is lost or out of memory
};

/// Copies everything, piece by piece.
[[nodiscard]] Filled fill(Part& part, const DenseRows& rows);
[[nodiscard]] Filled fill(Part& part, const Documents& documents);
[[nodiscard]] Filled fill(Part& part, const CodeLists& lists);
[[nodiscard]] Filled fill(Part& part, const ByteCodes& codes);
[[nodiscard]] Filled fill(Part& part, const ImpactRuns& runs);

}  // namespace quiver::gpu
