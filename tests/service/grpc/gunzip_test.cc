#include "service/grpc/gunzip.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/gzipped.h"

namespace quiver::service::rpc {
namespace {

TEST(Gunzip, GivesTheTextBack) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    const std::string text(size, 'x');
    const std::string zipped = gzipped(text);
    EXPECT_EQ(gunzip(zipped, size).value(), text);
  }
}

TEST(Gunzip, RefusesATextThatIsTooLong) {
  const std::string zipped = gzipped(std::string(1'000'000, 'x'));
  EXPECT_EQ(gunzip(zipped, 999'999).error().status, 413);
  EXPECT_TRUE(gunzip(zipped, 1'000'000));
}

TEST(Gunzip, RefusesPartsAndNonsense) {
  const std::string zipped = gzipped("text");
  EXPECT_EQ(gunzip(zipped.substr(0, zipped.size() - 1), 100).error().status, 400);
  EXPECT_EQ(gunzip("\x1F\x8B nonsense", 100).error().status, 400);
}

}  // namespace
}  // namespace quiver::service::rpc
