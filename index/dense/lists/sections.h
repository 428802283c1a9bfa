// Section numbers of the lists' files: docs/formats/ivf.md.
#pragma once

#include <cstdint>

namespace quiver::index::dense {

enum Section : std::uint32_t {
  kFacts = 1,
  kListBlocks = 2,
  kRows = 3,
  kBlocks = 4,
  kCentroids = 5,
  kRoutes = 6,
  kMean = 7,
  kReaches = 8,
  kStart = 9,
  kDepths = 10,
  kHasSigns = 11,
  kRegionLists = 12,
  kRegionCodes = 13,
  kRegionGap = 14,
  kByteCodes = 20,
  kByteFactors = 21,
  kSignFacts = 30,
  kSignCentre = 31,
  kSigns = 32,
  kReductionFacts = 40,
  kReductionMatrix = 41,
  kReductionTail = 42,
};

}  // namespace quiver::index::dense
