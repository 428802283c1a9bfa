#include "service/http/collection_answers.h"

#include <gtest/gtest.h>

#include <string>

namespace quiver::service {
namespace {

constexpr std::string_view kQuery = "POST /collections/{collection_name}/points/query";
bool every(const std::string&) { return true; }

TEST(CollectionAnswers, AreCountedByNameRouteAndStatus) {
  CollectionAnswers answers;
  answers.count("a", kQuery, 200, 0.001);
  answers.count("a", kQuery, 200, 0.003);
  answers.count("a", kQuery, 400, 0.001);
  answers.count("b", "GET /x", 200, 0.001);
  const auto all = answers.summaries(every);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.at("a").at(kQuery).at(200).n, 2U);
  EXPECT_NEAR(all.at("a").at(kQuery).at(200).total_us, 4000, 1e-6);
  EXPECT_EQ(all.at("a").at(kQuery).at(400).n, 1U);
  EXPECT_EQ(all.at("b").at("GET /x").at(200).n, 1U);
}

TEST(CollectionAnswers, DroppedCollectionsAreForgotten) {
  CollectionAnswers answers;
  answers.count("a", kQuery, 200, 0.001);
  answers.count("b", kQuery, 200, 0.001);
  EXPECT_EQ(answers.summaries([](const auto& name) { return name == "b"; }).size(), 1U);
  EXPECT_EQ(answers.summaries(every).count("a"), 0U);
}

TEST(CollectionAnswers, NamesAreBounded) {
  CollectionAnswers answers;
  for (std::size_t i = 0; i < CollectionAnswers::kMaxCollections + 10; ++i) {
    answers.count(std::to_string(i), kQuery, 200, 0.001);
  }
  EXPECT_EQ(answers.summaries(every).size(), CollectionAnswers::kMaxCollections);
}

}  // namespace
}  // namespace quiver::service
