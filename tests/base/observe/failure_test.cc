#include "base/observe/failure.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace quiver {
namespace {

TEST(Failure, ExceptionsBecomeErrors) {
  const Result<int> value = guarded([]() -> Result<int> { return 7; });
  EXPECT_EQ(value.value_or(0), 7);
  const Result<int> thrown = guarded([]() -> Result<int> { throw std::runtime_error("broken"); });
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().to_string(), "internal: broken");
  const Result<int> memory = guarded([]() -> Result<int> { throw std::bad_alloc(); });
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().to_string(), "resource_exhausted: out of memory");
}

TEST(Failure, LoggedExceptionsGoNoFurther) {
  testing::internal::CaptureStderr();
  run_logged("a timer", [] { throw std::runtime_error("broken"); });
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("a timer"), std::string::npos) << text;
  EXPECT_NE(text.find("broken"), std::string::npos) << text;
}

TEST(FailureDeathTest, AnExceptionInTheMiddleEndsTheProcess) {
  EXPECT_EQ(run_whole("a commit", [] { return 3; }), 3);
  EXPECT_DEATH(run_whole("a commit", [] { throw std::runtime_error("broken"); }),
               "a commit: broken; the process ends here");
}

}  // namespace
}  // namespace quiver
