#include <cstdio>
#include <cstdlib>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

// The choice is made once per process, so each case gets its own.
void print_choice(const char* wanted) {
  if (wanted == nullptr) {
    unsetenv("QUIVER_SIMD");
  } else {
    setenv("QUIVER_SIMD", wanted, 1);
  }
  std::fprintf(stderr, "[%s]", kernels().name);
  std::fprintf(stderr, "[%s]", kernels().name);
  std::exit(0);
}

std::string twice(const std::string& name) { return "\\[" + name + "\\]\\[" + name + "\\]$"; }

class DispatchTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(DispatchTest, GenericIsAlwaysThereAndLast) {
  ASSERT_GE(available().size(), 1u);
  EXPECT_STREQ(available().back()->name, "generic");
}

TEST_F(DispatchTest, TheBestLevelIsTheDefault) {
  const std::string best = available().front()->name;
  EXPECT_EXIT(print_choice(nullptr), ::testing::ExitedWithCode(0), "^" + twice(best));
  EXPECT_EXIT(print_choice(""), ::testing::ExitedWithCode(0), "^" + twice(best));
}

TEST_F(DispatchTest, EveryLevelCanBeNamed) {
  for (const KernelTable* table : available()) {
    EXPECT_EXIT(print_choice(table->name), ::testing::ExitedWithCode(0), "^" + twice(table->name));
  }
}

TEST_F(DispatchTest, AnUnknownNameIsReportedOnceAndIgnored) {
  const std::string best = available().front()->name;
  EXPECT_EXIT(print_choice("sse9"), ::testing::ExitedWithCode(0),
              "^QUIVER_SIMD=sse9 is not available here, using " + best +
                  " \\(available:[^\n]*\\)\n" + twice(best));
}

}  // namespace
}  // namespace quiver::testing
