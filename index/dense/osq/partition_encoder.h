// The codes of one partition, made from its rows alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "encoders/osq/klt.h"
#include "index/dense/osq/params.h"
#include "index/dense/osq/scaled_rows.h"
#include "index/dense/osq/sections.h"

namespace quiver::index::dense::osq {

struct EncodedPartition {
  PartitionFacts facts;
  encoders::osq::Klt klt;
  std::vector<std::uint8_t> bits;
  std::vector<float> limits;
  std::vector<std::byte> signs;
  std::vector<std::byte> codes;  ///< with kCodePadding
};

/// Mean, directions and cells come from a sample of at least 16384 rows, or all if there are fewer.
/// The first and last limit of each dimension contain all rows. `members`: numbers in `rows`,
/// ascending. Memory: the codes and 8 bytes a dimension for each row of the sample.
[[nodiscard]] Result<EncodedPartition> encode_partition(const ScaledRows& rows,
                                                        std::span<const std::uint32_t> members,
                                                        const OsqBuildParams& params,
                                                        const OsqFacts& facts,
                                                        const BuildContext& context);

}  // namespace quiver::index::dense::osq
