#include <gtest/gtest.h>

#include <set>

#include "encoders/transforms/rotation.h"
#include "index/dense/graph/beam.h"
#include "index/dense/graph/graph.h"
#include "index/dense/graph/links.h"
#include "index/dense/lists/search/lists_files.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/graph/graph_support.h"

namespace quiver::index::testing {
namespace {

TEST(GraphBeam, IsAListInOrderOfBoundedLength) {
  Random random(kSeed);
  for (int round = 0; round < 300; ++round) {
    const std::size_t length = 1 + random() % 40;
    dense::Beam beam;
    beam.reset(length);
    std::vector<std::pair<float, std::uint32_t>> wanted;  // that are in it, taken or not
    std::set<std::uint32_t> taken;
    for (std::uint32_t node = 0; node < 100; ++node) {
      const auto score = static_cast<float>(random() % 50);
      beam.add(score, node);
      const auto at = std::find_if(wanted.begin(), wanted.end(),
                                   [&](const auto& entry) { return entry.first < score; });
      wanted.insert(at, {score, node});
      if (wanted.size() > length) wanted.pop_back();
      if (random() % 3 != 0) continue;
      const auto next = std::find_if(wanted.begin(), wanted.end(), [&](const auto& entry) {
        return !taken.contains(entry.second);
      });
      const std::uint32_t* found = beam.peek();
      ASSERT_EQ(found == nullptr, next == wanted.end()) << "round " << round;
      if (found == nullptr) continue;
      ASSERT_EQ(*found, next->second) << "round " << round;
      ASSERT_EQ(beam.take(), next->second);
      taken.insert(next->second);
    }
  }
}

}  // namespace
}  // namespace quiver::index::testing
