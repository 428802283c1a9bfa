#include "base/observe/machine.h"

#include <gtest/gtest.h>

namespace quiver {
namespace {

TEST(Machine, HasCoresAndMemory) {
  const auto facts = read_machine();
  EXPECT_GT(facts.n_cores, 0U);
  EXPECT_GT(facts.ram_bytes, std::uint64_t{64} << 20);
}

}  // namespace
}  // namespace quiver
