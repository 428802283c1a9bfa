#include "base/io/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace quiver {
namespace {

bool is_descriptor_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(DescriptorTest, ClosesWhenDestroyedAndOnlyOnce) {
  int fd = -1;
  {
    Descriptor owner(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(owner.is_open());
    fd = owner.get();
    EXPECT_TRUE(is_descriptor_open(fd));
  }
  EXPECT_FALSE(is_descriptor_open(fd));
  Descriptor owner(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  fd = owner.get();
  EXPECT_EQ(owner.close(), 0);
  EXPECT_FALSE(owner.is_open());
  EXPECT_FALSE(is_descriptor_open(fd));
  EXPECT_EQ(owner.close(), 0);
}

TEST(DescriptorTest, OwnsNothingAfterAFailedOpen) {
  Descriptor owner(::open("/no/such/file", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(owner.is_open());
  EXPECT_EQ(owner.close(), 0);
}

}  // namespace
}  // namespace quiver
