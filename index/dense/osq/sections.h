// Sections of the index's file: docs/formats/osq.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/io/section_file.h"

namespace quiver::index::dense::osq {

inline constexpr std::string_view kOsqFile = "osq.qvx";
inline constexpr SectionFormat kOsqFormat{"OSQ index", "QVOSQ001", "QVOSQEND"};

/// Kinds of sections. Those from kPartition on exist once for each partition, as the field.
enum Section : std::uint32_t {
  kFacts = 1,
  kMembers = 2,
  kPartition = 10,
  kMean = 11,
  kDirections = 12,
  kBits = 13,
  kLimits = 14,
  kSigns = 15,
  kCodes = 16,
};

struct OsqFacts {
  std::uint32_t dim = 0;
  std::uint32_t n_partitions = 0;
  double scale = 1;   ///< of rows, a power of two
  double bits = 0;    ///< wanted bits per dimension
  double length = 0;  ///< of the longest scaled row; 0 under Euclid
  std::uint64_t seed = 0;
  /// 1: signs are those of rotated rows; 0: of principal coordinates.
  std::uint32_t are_signs_mixed = 1;
  std::uint32_t rotation_version = 0;
};

struct PartitionFacts {
  std::uint32_t n_rows = 0;
  std::uint32_t n_out = 0;       ///< directions
  std::uint32_t n_segments = 0;  ///< bytes of a row's codes
  /// Largest distance of a row from the space of the directions.
  float residual = 0;
  /// Under Dot: mean of sqrt(length^2 - |x|^2) over the rows x, the coordinate that turns products
  /// into distances. Otherwise 0.
  float complement = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(OsqFacts) == 48);
static_assert(sizeof(PartitionFacts) == 24);

/// Bytes after the codes of a partition, which are read eight at a time.
inline constexpr std::size_t kCodePadding = 8;

}  // namespace quiver::index::dense::osq
