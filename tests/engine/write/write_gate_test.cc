#include "engine/write/write_gate.h"

#include <gtest/gtest.h>

namespace quiver::engine {
namespace {

TEST(WriteGate, RefusesWithItsReasonUntilItOpens) {
  WriteGate gate;
  EXPECT_TRUE(gate.check());
  gate.close(Error(Code::kUnavailable, "the disk is gone"));
  const auto refused = gate.check();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "the disk is gone");
  gate.open();
  EXPECT_TRUE(gate.check());
}

}  // namespace
}  // namespace quiver::engine
