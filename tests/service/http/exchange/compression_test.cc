#include "service/http/exchange/compression.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <random>
#include <string>
#include <utility>

namespace quiver::service {
namespace {

TEST(Compression, IsWhatTheClientLikesBest) {
  using enum Compression;
  const std::pair<std::string_view, Compression> cases[] = {{"", kNone},
                                                            {"gzip", kGzip},
                                                            {"gzip, deflate", kGzip},
                                                            {"gzip, deflate, br, zstd", kZstd},
                                                            {"zstd;q=0.5, gzip", kGzip},
                                                            {"gzip;q=0", kNone},
                                                            {"identity", kNone},
                                                            {"identity;q=1, gzip;q=0.5", kNone},
                                                            {"identity;q=0.5, gzip;q=0.5", kGzip},
                                                            {"*", kGzip},
                                                            {"*;q=0", kNone},
                                                            {"gzip;q=0, *", kNone},
                                                            {"x-gzip", kGzip},
                                                            {"GZIP ;q=1.0", kGzip},
                                                            {"gzip;q=x", kNone},
                                                            {"gzip;q=2", kNone},
                                                            {",,;q=,", kNone},
                                                            {"gzipped", kNone},
                                                            {"br", kNone}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(choose_compression(text), expected) << text;
  }
}

TEST(Compression, GzipIsAcceptedWhateverElseIs) {
  for (const auto* text : {"gzip", "br, zstd, gzip;q=0.1", "*", "x-gzip"}) {
    EXPECT_TRUE(accepts_gzip(text)) << text;
  }
  for (const auto* text : {"", "br", "gzip;q=0", "gzip;q=0, *", "identity"}) {
    EXPECT_FALSE(accepts_gzip(text)) << text;
  }
}

std::string repeated_text() {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "{\"id\":" + std::to_string(i) + "},";
  return text;
}

TEST(Compression, OfZstdCanBeUndone) {
  Response response;
  response.body = repeated_text();
  compress_answer(response, Compression::kZstd);
  EXPECT_EQ(response.content_encoding, "zstd");
  std::string text(repeated_text().size(), '\0');
  const auto n =
      ZSTD_decompress(text.data(), text.size(), response.body.data(), response.body.size());
  EXPECT_EQ(n, text.size());
  EXPECT_EQ(text, repeated_text());
}

TEST(Compression, OfGzipMakesItSmaller) {
  Response response;
  response.body = repeated_text();
  compress_answer(response, Compression::kGzip);
  EXPECT_EQ(response.content_encoding, "gzip");
  EXPECT_EQ(response.body.substr(0, 2), "\x1f\x8b");
  EXPECT_LT(response.body.size(), repeated_text().size() / 3);
}

TEST(Compression, LeavesWhatDoesNotGetSmaller) {
  std::mt19937 random(3);
  Response response;
  for (int i = 0; i < 10000; ++i) response.body += static_cast<char>(random());
  const std::string body = response.body;
  for (const auto compression : {Compression::kGzip, Compression::kZstd, Compression::kNone}) {
    compress_answer(response, compression);
    EXPECT_EQ(response.body, body);
    EXPECT_EQ(response.content_encoding, "");
  }
}

}  // namespace
}  // namespace quiver::service
