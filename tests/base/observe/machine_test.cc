#include "base/observe/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace quiver {
namespace {

TEST(Machine, HasCoresAndMemory) {
  const auto facts = read_machine();
  EXPECT_GT(facts.n_cores, 0U);
  EXPECT_GT(facts.ram_bytes, std::uint64_t{64} << 20);
}

TEST(Machine, TheSmallestLimitOfItsControlGroupsCounts) {
  namespace fs = std::filesystem;
  const fs::path root =
      fs::path(testing::TempDir()) / ("quiver_groups_" + std::to_string(getpid()));
  fs::create_directories(root / "system/quiver");
  const auto write = [&](const fs::path& file, const std::string& text) {
    std::ofstream(root / file) << text;
  };
  write("of-us", "1:name=systemd:/other\n0::/system/quiver\n");
  const auto limit = [&] { return control_group_memory(root / "of-us", root); };
  EXPECT_EQ(limit(), std::numeric_limits<std::uint64_t>::max());
  write("system/quiver/memory.max", "max\n");
  write("system/memory.max", "3000000\n");
  EXPECT_EQ(limit(), 3'000'000U);
  write("system/quiver/memory.max", "2000000\n");
  EXPECT_EQ(limit(), 2'000'000U);
  write("memory.max", "1000000\n");
  EXPECT_EQ(limit(), 1'000'000U);
  EXPECT_EQ(control_group_memory(root / "missing", root), 1'000'000U);
  fs::create_directories(root / "memory/a/b");
  write("memory/a/memory.limit_in_bytes", "500000\n");
  write("memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  write("of-us", "4:memory:/a/b\n0::/\n");
  EXPECT_EQ(limit(), 500'000U) << "version 1";
  fs::remove_all(root);
}

}  // namespace
}  // namespace quiver
