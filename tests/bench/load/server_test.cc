#include "bench/load/server.h"

#include <gtest/gtest.h>

#include <optional>

namespace quiver::bench {
namespace {

TEST(ServerTest, WorkInTheBackground) {
  EXPECT_FALSE(is_not_green(R"({"result":{"status":"green","points_count":3}})"));
  EXPECT_TRUE(is_not_green(R"({"result":{"status":"yellow"}})"));
  EXPECT_FALSE(is_not_green(""));
  EXPECT_FALSE(names_running(R"({"result":{"running":[],"completed":[{}]}})"));
  EXPECT_TRUE(names_running(R"({"result":{"running":[{}]}})"));
  EXPECT_FALSE(names_running(R"({"status":{"error":"Not found"}})"));
}

TEST(ServerTest, CpuSeconds) {
  EXPECT_EQ(cpu_seconds_of("# TYPE process_cpu_seconds_total counter\n"
                           "process_cpu_seconds_total 1.25\nx 3\n"),
            1.25);
  EXPECT_EQ(cpu_seconds_of("a 1\nq_process_cpu_seconds_total 2e1"), 20);
  EXPECT_EQ(cpu_seconds_of("a 1\n"), std::nullopt);
}

}  // namespace
}  // namespace quiver::bench
