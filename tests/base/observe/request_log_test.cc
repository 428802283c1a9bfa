#include "base/observe/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace quiver {
namespace {

using testing::HasSubstr;
using testing::Not;

RequestFacts facts() {
  RequestFacts facts;
  facts.transport = "rest";
  facts.method = "POST";
  facts.endpoint = "/collections/{collection_name}/points/query";
  facts.collection = "a\"b\n";
  facts.status = 200;
  facts.seconds = 0.0125;
  facts.answer_bytes = 34;
  facts.request_id = "r1";
  return facts;
}

TEST(RequestLine, IsOneJsonObject) {
  EXPECT_EQ(request_line(1'795'702'132'050, facts(), 0),
            R"({"time":"2026-11-26T14:08:52.050Z","transport":"rest","method":"POST",)"
            R"("endpoint":"/collections/{collection_name}/points/query","collection":"a\"b\u000a",)"
            R"("status":200,"ms":12.500,"answer_bytes":34,"request_id":"r1"})"
            "\n");
}

TEST(RequestLine, MarksSlowRequests) {
  EXPECT_THAT(request_line(0, facts(), 12.5), HasSubstr(R"(,"slow":true})"));
  EXPECT_THAT(request_line(0, facts(), 12.6), Not(HasSubstr("slow")));
}

class RequestLogFile : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_TRUE(set_up_request_log({}));
    std::filesystem::remove(path_);
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> found;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) found.push_back(line);
    return found;
  }
  const std::string path_ = testing::TempDir() + "requests-" + std::to_string(::getpid());
};

TEST_F(RequestLogFile, IsOffAtFirst) {
  EXPECT_FALSE(logs_requests());
  log_request(facts());
}

TEST_F(RequestLogFile, LinesOfThreadsDoNotMix) {
  ASSERT_TRUE(set_up_request_log({path_, 0}));
  EXPECT_TRUE(logs_requests());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) log_request(facts());
    });
  }
  for (auto& thread : threads) thread.join();
  const auto found = lines();
  EXPECT_EQ(found.size(), 800U);
  EXPECT_TRUE(std::ranges::all_of(found, [](const std::string& line) {
    return line.starts_with("{\"time\":\"") && line.ends_with("}");
  }));
}

TEST_F(RequestLogFile, IsAppendedTo) {
  for (int times = 0; times < 2; ++times) {
    ASSERT_TRUE(set_up_request_log({path_, 0}));
    log_request(facts());
  }
  EXPECT_EQ(lines().size(), 2U);
}

TEST_F(RequestLogFile, ThatCannotBeOpenedIsAnError) {
  const auto opened = set_up_request_log({path_ + "/not/there", 0});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("not/there"));
}

}  // namespace
}  // namespace quiver
