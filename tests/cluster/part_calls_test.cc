// Messages about parts of collections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/hash.h"
#include "cluster/parts/codec.h"
#include "cluster/parts/forms.h"
#include "cluster/parts/part_calls.h"

namespace quiver::cluster {
namespace {

using ::testing::HasSubstr;

template <class T>
std::string written(const T& value) {
  std::string out;
  codec::put(out, value);
  return out;
}

/// A query with something of every kind.
engine::Query rich_query() {
  engine::Query query;
  engine::Nearest nearest{engine::VectorValue(engine::SparseVector{{1, 5}, {.5F, 2}})};
  nearest.own = PointId::uuid(1, 2);
  nearest.mmr = engine::Mmr{.25F, 7, "half"};
  query.kind = nearest;
  query.filter.emplace();
  auto inner = std::make_shared<payload::Filter>();
  inner->should = {payload::FieldCondition{"a", payload::MatchAny{{std::string("x"), true}}}};
  query.filter->must = {std::shared_ptr<const payload::Filter>(inner),
                        payload::HasId{{PointId::number(3)}},
                        payload::FieldCondition{"b", payload::Range{{}, 1.5, {}, std::int64_t{9}}}};
  query.params.index["ivf"]["effort"] = 12.5;
  query.params.hnsw_ef = 100;
  query.with_payload = payload::Selector::include({*payload::JsonPath::parse("a[].b")});
  engine::Query formula;
  engine::Formula made;
  made.root = {engine::formula::Sum{},
               {{engine::formula::Constant{2}}, {engine::formula::Score{1}}}};
  made.variables = {{*payload::JsonPath::parse("n"), engine::formula::ValueType::kNumber,
                     payload::Value(std::int64_t{3})}};
  made.default_scores[1] = .5;
  formula.kind = made;
  query.prefetch = {formula, engine::Query()};
  return query;
}

TEST(PartCalls, WhatIsReadIsWhatWasWritten) {
  const std::string bytes = written(rich_query());
  codec::Reader in(bytes);
  engine::Query read;
  codec::take(in, read);
  EXPECT_TRUE(in.is_whole());
  EXPECT_EQ(written(read), bytes);
  EXPECT_EQ(std::get<engine::Nearest>(read.kind).own, PointId::uuid(1, 2));
  EXPECT_EQ(read.prefetch.size(), 2U);
  EXPECT_EQ(read.with_payload, rich_query().with_payload);
  EXPECT_EQ(read.params, rich_query().params);
}

TEST(PartCalls, WhatIsCutShortIsRefused) {
  const std::string bytes = written(rich_query());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    codec::Reader in(std::string_view(bytes).substr(0, n));
    engine::Query read;
    codec::take(in, read);
    EXPECT_FALSE(in.is_whole()) << n;
  }
}

TEST(PartCalls, ChangedBytesEndInAnErrorOrAValue) {
  const std::string bytes = written(rich_query());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {0, 1, 127, 255}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      codec::Reader in(changed);
      engine::Query read;
      codec::take(in, read);
    }
  }
}

TEST(PartCalls, WhatIsNestedTooDeeplyIsRefused) {
  engine::Query deep;
  for (int i = 0; i < 3000; ++i) {
    engine::Query outer;
    outer.prefetch.push_back(std::move(deep));
    deep = std::move(outer);
  }
  const std::string bytes = written(deep);
  codec::Reader in(bytes);
  engine::Query read;
  codec::take(in, read);
  EXPECT_FALSE(in.is_whole());
}

TEST(PartCalls, OutcomesKeepTheirErrors) {
  EXPECT_TRUE(decode_outcome(encode_outcome({})));
  const auto failed = decode_outcome(
      encode_outcome(fail(Code::kNotFound, Subject::kCollection, "docs", "it is not there")));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kNotFound);
  EXPECT_EQ(failed.error().subject(), Subject::kCollection);
  EXPECT_EQ(failed.error().subject_name(), "docs");
  EXPECT_EQ(failed.error().message(), "it is not there");
  EXPECT_FALSE(decode_outcome(""));
  EXPECT_FALSE(decode_outcome("x"));
}

TEST(PartCalls, AnotherVersionIsNotAnswered) {
  std::string message = config_question("docs/0", "{}", "{}");
  ASSERT_TRUE(read_question(message));
  EXPECT_EQ(read_question(message)->part, "docs/0");
  message[0] = static_cast<char>(message[0] + 1);
  const auto refused = read_question(message);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("of version"));
  EXPECT_EQ(read_question("").error().code(), Code::kInvalidArgument);
}

/// If this fails, messages have another form than before: raise `kPartCallsVersion` and put the new
/// number here.
TEST(PartCalls, AnotherFormHasAnotherVersion) {
  EXPECT_EQ(kPartCallsVersion, 3U);
  EXPECT_EQ(hash_text(describe_messages()), 3754387980140136845U)
      << describe_messages().substr(0, 2000);
}

}  // namespace
}  // namespace quiver::cluster
