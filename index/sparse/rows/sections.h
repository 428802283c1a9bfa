// Section numbers of a sparse index's file: docs/formats/seismic.md.
#pragma once

#include <cstdint>

namespace quiver::index::sparse {

enum Section : std::uint32_t {
  kTermKeys = 10,
  kRecordFacts = 20,
  kRecordPlaces = 21,
  kRecordLines = 22,
  kListFacts = 30,
  kListMaxima = 31,
  kListTotals = 32,
  kListPlaces = 33,
  kListRuns = 34,
  kBlockFacts = 40,
  kBlockLists = 41,
  kBlockSummaries = 42,
  kBlockFirstRows = 43,
  kBlockRows = 44,
  kBlockNeighbours = 45,
  kHeadFacts = 46,
  kHeadCodes = 47,
};

}  // namespace quiver::index::sparse
