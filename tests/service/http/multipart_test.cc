#include "service/http/multipart.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "service/http/byte_range.h"

namespace quiver::service {
namespace {

std::string part(const std::string& name, const std::string& content) {
  return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"f\"\r\n\r\n" +
         content + "\r\n";
}

/// The field as it arrives in pieces of at most `piece_bytes`; the error's text if there is one.
std::string read(const std::string& body, std::size_t piece_bytes) {
  std::string content;
  MultipartReader reader("b", "snapshot", [&](std::string_view bytes) -> Result<> {
    content += bytes;
    return {};
  });
  for (std::size_t at = 0; at < body.size(); at += piece_bytes) {
    if (auto written = reader.write(std::string_view(body).substr(at, piece_bytes)); !written) {
      return "error: " + written.error().message();
    }
  }
  const auto finished = reader.finish();
  return finished ? content : "error: " + finished.error().message();
}

TEST(Multipart, FindsTheFieldHoweverItIsCut) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    std::string content;
    for (std::uint64_t n = random() % 300; n > 0; --n) content += "\r\n--b-x\0"[random() % 8];
    // A content cannot hold its own delimiter.
    for (std::size_t at = 0; (at = content.find("\r\n--b")) != std::string::npos;)
      content[at] = 'x';
    const std::string body = "preamble\r\n" + part("other", "a") + part("snapshot", content) +
                             part("snapshot", "second") + "--b--\r\nepilogue";
    for (const std::size_t piece : {1U, 2U, 3U, 7U, 64U, 100'000U}) {
      EXPECT_EQ(read(body, piece), content) << "round " << round << ", pieces of " << piece;
    }
  }
  EXPECT_EQ(read(part("snapshot", "") + "--b--", 1), "");
  EXPECT_EQ(read("--b\r\ncontent-disposition: form-data; name=snapshot\r\n\r\nx\r\n--b--", 4), "x");
}

TEST(Multipart, RefusesWhatIsNotWhole) {
  EXPECT_EQ(read("", 5), "error: malformed multipart body: it ends too early");
  EXPECT_EQ(read(part("snapshot", "abc"), 5), "error: malformed multipart body: it ends too early");
  EXPECT_EQ(read(part("other", "abc") + "--b--", 5),
            "error: malformed multipart body: it has no field `snapshot`");
  EXPECT_EQ(read("--bx\r\n\r\n\r\n--b--", 5),
            "error: malformed multipart body: something follows a boundary");
  EXPECT_EQ(read("--b\r\n" + std::string(20'000, 'h'), 500),
            "error: malformed multipart body: the headers of a part are too long");
}

TEST(Multipart, ReadsTheBoundary) {
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(multipart_boundary("Multipart/Form-Data; charset=x; Boundary=\"a b\""), "a b");
  EXPECT_EQ(multipart_boundary("multipart/form-data"), std::nullopt);
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary="), std::nullopt);
  EXPECT_EQ(multipart_boundary("application/json"), std::nullopt);
}

TEST(Ranges, AsTheStandardSays) {
  const auto range = [](std::string_view header) -> std::string {
    const auto parsed = parse_range(header, 100);
    if (!parsed) return "416";
    if (!*parsed) return "all";
    return std::to_string((*parsed)->offset) + "+" + std::to_string((*parsed)->size_bytes);
  };
  EXPECT_EQ(range("bytes=0-0"), "0+1");
  EXPECT_EQ(range("bytes=10-19"), "10+10");
  EXPECT_EQ(range("bytes=90-1000"), "90+10");
  EXPECT_EQ(range("bytes=99-"), "99+1");
  EXPECT_EQ(range("bytes=-1"), "99+1");
  EXPECT_EQ(range("bytes=-1000"), "0+100");
  EXPECT_EQ(range("bytes=100-"), "416");
  EXPECT_EQ(range("bytes=-0"), "416");
  for (const char* other : {"", "bytes=", "bytes=-", "bytes=5-4", "bytes=1-2,5-6", "lines=1-2",
                            "bytes=x-2", "bytes=1-y"}) {
    EXPECT_EQ(range(other), "all") << other;
  }
  EXPECT_EQ(parse_range("bytes=-5", 0).has_value(), false);
}

}  // namespace
}  // namespace quiver::service
