#include "service/client/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace quiver::client {
namespace {

using testing::ElementsAre;

TEST(HttpTest, Urls) {
  EXPECT_EQ(parse_url("http://127.0.0.1:80/")->port, 80);
  EXPECT_EQ(parse_url("http://host")->port, 6333);
  EXPECT_EQ(parse_url("http://host", 2379)->port, 2379);
  EXPECT_EQ(parse_url("http://[::1]")->host, "::1");
  EXPECT_EQ(parse_url("http://[::1]:7")->port, 7);
  EXPECT_FALSE(parse_url("http://host")->is_tls);
  EXPECT_TRUE(parse_url("https://host:1/")->is_tls);
  EXPECT_EQ(parse_url("https://host:1/")->host, "host");
  for (const char* wrong :
       {"", "host:1", "https://", "ftp://host", "http://", "http://h:x", "http://h/a"}) {
    EXPECT_FALSE(parse_url(wrong)) << wrong;
  }
  EXPECT_EQ(escape_segment("a b/ü.x"), "a%20b%2F%C3%BC.x");
}

void feed(ResponseReader& reader, std::string_view bytes) {
  std::memcpy(reader.reserve(bytes.size()), bytes.data(), bytes.size());
  reader.commit(bytes.size());
}

TEST(HttpTest, ResponsesAreCutHoweverTheyArrive) {
  const std::string stream =
      "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
      "HTTP/1.1 404 Not Found\r\nX: y\r\nContent-Length: 0\r\n\r\n"
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab\n\r\nB;x=y\r\n01234567\r\n9\r\n"
      "0\r\n\r\n"
      "HTTP/1.1 404 Not Found\r\ntransfer-encoding:Chunked\r\n\r\n1\r\nz\r\n0\r\nA: b\r\nC: "
      "d\r\n\r\n"
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
      "HTTP/1.1 200 OK\r\nCONTENT-LENGTH:3\r\n\r\nabc";
  for (std::size_t chunk = 1; chunk <= stream.size(); ++chunk) {
    ResponseReader reader;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < stream.size(); at += chunk) {
      feed(reader, std::string_view(stream).substr(at, chunk));
      for (auto next = reader.next(); next && next->has_value(); next = reader.next()) {
        found.push_back(std::to_string((*next)->status) + std::string((*next)->body));
      }
    }
    EXPECT_THAT(found,
                ElementsAre("200hello", "404", "200ab\n01234567\r\n9", "404z", "200", "200abc"))
        << chunk;
  }
}

TEST(HttpTest, ResponsesWithoutLengthAreErrors) {
  for (const char* text :
       {"HTTP/1.1 200 OK\r\n\r\n", "hello\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n1\r\nz\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "ffffffffffffffff\r\nz\r\n"}) {
    ResponseReader reader;
    feed(reader, text);
    EXPECT_FALSE(reader.next()) << text;
  }
}

}  // namespace
}  // namespace quiver::client
