#include "service/console/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "service/grpc/gunzip.h"
#include "service/server.h"
#include "tests/service/fake_database.h"
#include "tests/service/http_client.h"

namespace quiver::service::console {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ConsoleFiles, AreThoseOfTheFolder) {
  for (const std::string path : {"index.html", "main.js", "console.css", "lib/dom.js"}) {
    std::ifstream in("service/console/assets/" + path, std::ios::binary);
    const std::string wanted{std::istreambuf_iterator<char>(in), {}};
    ASSERT_FALSE(wanted.empty()) << path;
    const File* file = find_file(path);
    ASSERT_NE(file, nullptr) << path;
    EXPECT_EQ(file->body, wanted);
  }
  EXPECT_EQ(find_file("lib/nothing.js"), nullptr);
  EXPECT_EQ(find_file(""), nullptr);
  EXPECT_EQ(find_file("../console.h"), nullptr);
}

TEST(ConsoleFiles, HaveDifferentValidators) {
  std::vector<std::string> etags;
  for (const File& file : files()) {
    etags.push_back(file.etag);
    etags.push_back(file.gzip_etag);
  }
  std::ranges::sort(etags);
  EXPECT_EQ(std::ranges::adjacent_find(etags), etags.end());
}

/// Pages may name nothing outside the server, and must not make elements from text.
TEST(ConsoleFiles, NameNothingOutsideAndParseNoMarkup) {
  for (const File& file : files()) {
    const std::string body(file.body);
    for (const auto* forbidden : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                                  "eval(", "https://", "<style", " style="}) {
      EXPECT_THAT(body, Not(HasSubstr(forbidden))) << file.path;
    }
    std::string rest = body;
    for (std::size_t at = 0; (at = rest.find("http://", at)) != std::string::npos; ++at) {
      EXPECT_THAT(rest.substr(at), StartsWith("http://www.w3.org/")) << file.path;
    }
  }
}

/// All files together keep the limit of a single page, uncompressed.
TEST(ConsoleFiles, AreSmall) {
  std::size_t all = 0;
  for (const File& file : files()) {
    all += file.body.size();
    EXPECT_LT(file.gzip.size(), file.body.size()) << file.path;
  }
  EXPECT_LT(all, 300 << 10);
}

TEST(ConsoleFiles, ValidatorsAreFoundInLists) {
  const std::string etag = "\"a\"";
  for (const auto* header : {"\"a\"", "W/\"a\"", "\"b\", \"a\"", "*", " \"a\" "}) {
    EXPECT_TRUE(names_etag(header, etag)) << header;
  }
  for (const auto* header : {"", "\"b\"", "a", "\"a", ",,", "\"a\"-gzip"}) {
    EXPECT_FALSE(names_etag(header, etag)) << header;
  }
}

class ConsoleTest : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.port = 0;
    options.io_threads = 1;
    auto server = Server::start(std::move(options), database_, metrics_);
    ASSERT_TRUE(server) << server.error().to_string();
    server_ = *std::move(server);
  }
  HttpAnswer call(std::string_view method, std::string_view target, std::string_view headers = "") {
    HttpClient client(server_->port());
    return client.request(method, target, "", headers);
  }

  FakeDatabase database_;
  MetricsRegistry metrics_;
  std::unique_ptr<Server> server_;
};

TEST_F(ConsoleTest, PageAndItsFilesAreServed) {
  start();
  const auto page = call("GET", "/dashboard/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.body, find_file("index.html")->body);
  for (const auto& [path, type] : {std::pair("main.js", "text/javascript; charset=utf-8"),
                                   std::pair("lib/dom.js", "text/javascript; charset=utf-8"),
                                   std::pair("console.css", "text/css; charset=utf-8"),
                                   std::pair("icon.svg", "image/svg+xml")}) {
    const auto answer = call("GET", std::string("/dashboard/") + path + "?v=1");
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.headers.at("content-type"), type);
    EXPECT_EQ(answer.body, find_file(path)->body);
  }
}

/// Files are named relative to the page, so its address needs the slash.
TEST_F(ConsoleTest, AddressWithoutSlashLeadsToTheOneWithIt) {
  start();
  const auto answer = call("GET", "/dashboard?x=/");
  EXPECT_EQ(answer.status, 308);
  EXPECT_EQ(answer.headers.at("location"), "dashboard/");
}

TEST_F(ConsoleTest, BrowserIsToldToLoadNothingElse) {
  start();
  const auto answer = call("GET", "/dashboard/");
  const auto& policy = answer.headers.at("content-security-policy");
  EXPECT_THAT(policy, StartsWith("default-src 'none'; script-src 'self'; "));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'; require-trusted-types-for 'script'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(answer.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.headers.at("cache-control"), "no-cache");
}

TEST_F(ConsoleTest, CachedFilesAreNotSentAgain) {
  start();
  const auto first = call("GET", "/dashboard/main.js");
  const std::string& etag = first.headers.at("etag");
  const auto again = call("GET", "/dashboard/main.js", "if-none-match: " + etag + "\r\n");
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(again.headers.at("etag"), etag);
  EXPECT_EQ(again.headers.count("content-length"), 0U) << "it would be that of the file";
  EXPECT_EQ(call("GET", "/dashboard/main.js", "if-none-match: \"old\"\r\n").status, 200);
  const std::string both = "if-none-match: " + etag + "\r\naccept-encoding: gzip\r\n";
  EXPECT_EQ(call("GET", "/dashboard/main.js", both).status, 200) << "another representation";
}

TEST_F(ConsoleTest, FilesAreCompressedForClientsThatAsk) {
  start();
  const auto plain = call("GET", "/dashboard/console.css");
  const auto packed = call("GET", "/dashboard/console.css", "accept-encoding: gzip, br\r\n");
  EXPECT_EQ(plain.headers.count("content-encoding"), 0U);
  EXPECT_EQ(packed.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(rpc::gunzip(packed.body, 1 << 20).value(), plain.body);
  EXPECT_NE(packed.headers.at("etag"), plain.headers.at("etag"));
  for (const auto& answer : {plain, packed}) {
    EXPECT_EQ(answer.headers.at("vary"), "accept-encoding");
  }
}

TEST_F(ConsoleTest, HeadTellsWhatGetWouldSend) {
  start();
  HttpClient client(server_->port());
  client.send("HEAD /dashboard/main.js HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  const std::string answer = client.receive_rest();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  const auto length = std::to_string(find_file("main.js")->body.size());
  EXPECT_THAT(answer, HasSubstr("\r\ncontent-length: " + length + "\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST_F(ConsoleTest, OtherPathsAndMethodsAreErrors) {
  start();
  for (const auto* path : {"/dashboard/none.js", "/dashboard/lib", "/dashboard/lib/none.js",
                           "/dashboard/../README.md", "/dashboard/a/b/c"}) {
    EXPECT_EQ(call("GET", path).status, 404) << path;
  }
  EXPECT_EQ(call("POST", "/dashboard/").status, 405);
  EXPECT_EQ(call("DELETE", "/dashboard/main.js").status, 405);
}

TEST_F(ConsoleTest, FilesNeedNoKeyButDataDo) {
  ServerOptions options;
  options.api_key = "secret";
  start(options);
  EXPECT_EQ(call("GET", "/dashboard/").status, 200);
  EXPECT_EQ(call("GET", "/dashboard/lib/dom.js").status, 200);
  EXPECT_EQ(call("GET", "/collections").status, 401);
}

TEST_F(ConsoleTest, CanBeSwitchedOff) {
  ServerOptions options;
  options.has_console = false;
  start(options);
  for (const auto* path : {"/dashboard", "/dashboard/", "/dashboard/main.js", "/dashboard/x/y"}) {
    const auto answer = call("GET", path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(answer.body, HasSubstr("the console is switched off (console.enabled)"));
  }
}

}  // namespace
}  // namespace quiver::service::console
