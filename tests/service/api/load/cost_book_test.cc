#include "service/api/load/cost_book.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace quiver::service::api::load {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(CostBook, GuessesBySizeBeforeAnythingIsKnown) {
  const CostBook book;
  EXPECT_EQ(book.class_of({Verb::kRetrieve, 1}), WorkClass::kCheap);
  EXPECT_EQ(book.class_of({Verb::kRetrieve, 10'000}), WorkClass::kExpensive);
  EXPECT_EQ(book.class_of({Verb::kFacet, 1'000}), WorkClass::kCheap);
  EXPECT_EQ(book.class_of({Verb::kFacet, 1'000'000}), WorkClass::kExpensive);
  EXPECT_EQ(book.class_of({Verb::kQuery, 1 << 20}), WorkClass::kCheap);
  EXPECT_EQ(book.class_of({Verb::kLong, 0}), WorkClass::kExpensive);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(book.class_of({Verb::kAggregate, most}), WorkClass::kExpensive);
}

TEST(CostBook, FollowsWhatLikeWorkTook) {
  CostBook book;
  const Work facet{Verb::kFacet, 1'000'000};
  book.note(facet, microseconds(100));
  EXPECT_EQ(book.class_of(facet), WorkClass::kCheap);
  for (int i = 0; i < 100; ++i) book.note(facet, milliseconds(20));
  EXPECT_EQ(book.class_of(facet), WorkClass::kExpensive);
  EXPECT_EQ(book.class_of({Verb::kFacet, 100}), WorkClass::kCheap) << "another size";
  EXPECT_EQ(book.class_of({Verb::kScroll, 100'000}), WorkClass::kCheap) << "another verb";
  book.note({Verb::kLong, 0}, microseconds(1));
  EXPECT_EQ(book.class_of({Verb::kLong, 0}), WorkClass::kExpensive) << "whatever it took";
}

TEST(CostBook, AKnownClassWins) {
  const CostBook book;
  EXPECT_EQ(book.class_of({Verb::kFacet, 1'000'000, WorkClass::kCheap}), WorkClass::kCheap);
  EXPECT_EQ(book.class_of({Verb::kQuery, 1, WorkClass::kExpensive}), WorkClass::kExpensive);
}

}  // namespace
}  // namespace quiver::service::api::load
