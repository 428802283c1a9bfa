// Section numbers of a multi-vector index's files: docs/formats/multi.md.
#pragma once

#include <cstdint>

namespace quiver::index::multi {

enum Section : std::uint32_t {
  kFacts = 1,
  kProbe = 2,
  kMap = 3,
  kProbeFacts = 4,
  kTokenFacts = 20,
  kTokenMean = 21,
  kTokenCodes = 22,
  kTokenPlaces = 23,
  kTokenSigns = 30,
};

}  // namespace quiver::index::multi
