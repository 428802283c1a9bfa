#include "base/variant.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "tests/support/failing_allocation.h"

namespace quiver {
namespace {

using Strings = std::vector<std::string>;
using Sample = Variant<std::string, std::int64_t, Strings>;

const std::string kLong(100, 'x');  // does not fit into the object itself

/// Copies `from` with every allocation failing in turn, into memory that held other bytes.
void expect_safe_copies(const Sample& from) {
  for (int n_before = 0;; ++n_before) {
    alignas(Sample) std::byte room[sizeof(Sample)];
    for (std::byte& byte : room) byte = std::byte{0xAB};
    testing_support::fail_allocations(n_before, 1);
    Sample* made = nullptr;
    try {
      made = new (room) Sample(from);
    } catch (const std::bad_alloc&) {
      continue;
    }
    testing_support::fail_allocations(0, 0);
    EXPECT_EQ(*made, from);
    made->~Sample();
    return;
  }
}

TEST(Variant, CopiesThatFailLeaveNothing) {
  for (const Sample& from : {Sample(kLong), Sample(Strings{kLong, "b", kLong}), Sample(7L)}) {
    expect_safe_copies(from);
  }
}

TEST(Variant, AssignmentsThatFailLeaveAValue) {
  const Sample strings(Strings{kLong, kLong});
  for (int n_before = 0; n_before < 4; ++n_before) {
    for (Sample to : {Sample(kLong), Sample(7L), Sample(Strings{"a"})}) {
      testing_support::fail_allocations(n_before, 1);
      try {
        to = strings;
        EXPECT_EQ(to, strings);
      } catch (const std::bad_alloc&) {
        EXPECT_FALSE(to.valueless_by_exception());
      }
      testing_support::fail_allocations(0, 0);
    }
  }
}

TEST(Variant, IsAVariant) {
  Sample sample = "text";
  EXPECT_EQ(std::get<std::string>(sample), "text");
  sample = std::int64_t{7};
  EXPECT_TRUE(std::holds_alternative<std::int64_t>(sample));
  EXPECT_EQ(std::visit([](const auto& value) { return sizeof value; }, sample), 8);
  Sample other = sample;
  EXPECT_EQ(other, sample);
  other = Strings{"a"};
  EXPECT_NE(std::get_if<Strings>(&other), nullptr);
  EXPECT_LT(sample, other);
}

}  // namespace
}  // namespace quiver
