#include "service/api/snapshot_location.h"

#include <gtest/gtest.h>

#include <string>

namespace quiver::service::api {
namespace {

std::string spell(std::string_view text) {
  const auto location = parse_location(text);
  if (!location) return "error: " + location.error().message();
  if (const auto* file = std::get_if<FileLocation>(&*location)) return "file " + file->path;
  const auto& web = std::get<HttpLocation>(*location);
  return "http " + web.host + " " + std::to_string(web.port) + " " + web.target;
}

TEST(SnapshotLocation, Files) {
  EXPECT_EQ(spell("file:///a/b%20c"), "file /a/b c");
  EXPECT_EQ(spell("file://localhost/a"), "file /a");
  EXPECT_EQ(spell("a.snapshot"), "file a.snapshot");
  for (const char* bad : {"file://whatever.snapshot", "file://./etc/passwd", "file://",
                          "file://x/y", "file:///a%0", "file:///a%00"}) {
    EXPECT_EQ(spell(bad), "error: Invalid snapshot URI, file path must be absolute or on localhost")
        << bad;
  }
  EXPECT_EQ(spell("a/b"), "error: `a/b` is neither a URL nor the name of a snapshot");
}

TEST(SnapshotLocation, Urls) {
  EXPECT_EQ(spell("http://localhost:6333/a?b=c#d"), "http localhost 6333 /a?b=c");
  EXPECT_EQ(spell("http://[::1]:80/x"), "http ::1 80 /x");
  EXPECT_EQ(spell("http://host"), "http host 80 /");
  EXPECT_EQ(spell("https://host/x"), "http host 443 /x");
  EXPECT_EQ(spell("ftp://host/x"), "error: URL ftp://host/x with scheme ftp is not supported");
  for (const char* bad :
       {"http://", "http:///x", "http://a@b/x", "http://host/a b", "http://host/a\r\nX: y"}) {
    EXPECT_EQ(spell(bad).substr(0, 5), "error") << bad;
  }
  EXPECT_EQ(spell("http://host:x/"), "error: the port of `http://host:x/` is no number");
}

TEST(SnapshotLocation, OnlyThisMachineUnlessNamed) {
  for (const char* host : {"localhost", "127.0.0.1", "::1"}) EXPECT_TRUE(check_host(host, ""));
  for (const char* host : {"example.com", "127.0.0.1.example.com", "10.0.0.1", "LOCALHOST", ""}) {
    EXPECT_FALSE(check_host(host, "")) << host;
    EXPECT_TRUE(check_host(host, "*")) << host;
  }
  EXPECT_TRUE(check_host("b", "a,b"));
  EXPECT_FALSE(check_host("a,b", "a,b"));
}

}  // namespace
}  // namespace quiver::service::api
