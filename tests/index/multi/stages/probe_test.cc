#include <gtest/gtest.h>

#include "base/threads/executor.h"
#include "index/multi/stages/params.h"
#include "index/multi/stages/probe_sample.h"
#include "tests/index/documented.h"
#include "tests/index/multi/multi_index.h"
#include "tests/index/multi/multi_support.h"
#include "tests/index/multi/searcher_support.h"

namespace quiver::index::testing {
namespace {

TEST(MultiProbe, SaysWhatStagesWereTriedOn) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(64), kRows, random);
  const auto told = [](const MultiIndex& index, const std::string& name) {
    for (const auto& [key, value] : index.searcher->describe().facts) {
      if (key == name) return to_string(value);
    }
    return std::string("nothing");
  };
  const MultiIndex unasked(corpus.column);
  EXPECT_EQ(told(unasked, "probe_queries_are"), R"("parts of documents")");
  EXPECT_EQ(told(unasked, "probe_documents"), std::to_string(kRows));

  QuerySample sample{64, {}};
  for (std::size_t i = 0; i < 80; ++i) {
    sample.queries.push_back(corpus.queries[i % corpus.queries.size()].values);
  }
  const MultiIndex asked(corpus.column, {}, &sample);
  EXPECT_EQ(told(asked, "probe_queries_are"), R"("recorded")");
  EXPECT_EQ(told(asked, "probe_queries"), "40") << "the others are for the fit";
}

}  // namespace
}  // namespace quiver::index::testing
