// What `quiver advise` prints for figures made by hand.
#include "bench/advise/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

namespace quiver::bench::advise {
namespace {

using testing::HasSubstr;
using testing::Not;

MeasuredWay way_of(DType dtype, IndexWay index, double bytes, std::vector<MeasuredEffort> efforts) {
  MeasuredWay way;
  way.way = {dtype, std::move(index)};
  way.n_rows = 5000;
  way.row_bytes = bytes / 2;
  way.index_bytes = bytes / 2;
  way.disk_bytes = 2 * bytes;
  way.efforts = std::move(efforts);
  return way;
}

Advice advice_of(Limits limits) {
  Advice advice;
  advice.data = "rows.npy";
  advice.schema.dim = 64;
  advice.schema.metric = Metric::kCosine;
  advice.n_rows = 5000;
  advice.n_queries = 100;
  advice.limits = limits;
  advice.ways.push_back(way_of(DType::kF32, {"ivf", {}}, 500,
                               {{{{"effort", std::int64_t{128}}}, .99, .9, 5000, 300}}));
  advice.ways.push_back(way_of(DType::kBf16, {"ivf", {{"spill", false}}}, 200,
                               {{{{"effort", std::int64_t{64}}}, .93, .8, 9000, 200},
                                {{{"effort", std::int64_t{256}}}, .97, .8, 4000, 400}}));
  return advice;
}

simdjson::dom::element parsed(simdjson::dom::parser& parser, const std::string& text) {
  return parser.parse(simdjson::padded_string(text)).value();
}

TEST(AdviceText, NamesTheWayAndTheRequestsThatApplyIt) {
  const std::string text = to_text(advice_of({.recall = .95}));
  EXPECT_THAT(text, HasSubstr("Advised: bfloat16, ivf spill=false, searched with effort=256: 200 "
                              "bytes a vector, recall@10 0.9700, 4,000 searches/s"));
  EXPECT_THAT(text, HasSubstr(R"("distance":"Cosine","datatype":"bfloat16")"));
  EXPECT_THAT(text, HasSubstr(R"(/indexes -H 'Content-Type: application/json' -d '{"build":)"));
  EXPECT_THAT(text, HasSubstr(R"("params": {"ivf":{"effort":256}})"));
}

TEST(AdviceText, SaysThatNoWayReachesTheLimits) {
  const std::string text = to_text(advice_of({.recall = .999}));
  EXPECT_THAT(text, HasSubstr("No way reaches it (fewest bytes, recall@10 >= 0.999)"));
  EXPECT_THAT(text, HasSubstr("The nearest is float32, ivf"));
}

TEST(AdviceText, SaysWhatWasNotTried) {
  Advice advice = advice_of({.recall = .95});
  EXPECT_THAT(to_text(advice), Not(HasSubstr("too short")));
  advice.n_untried = 3;
  advice.refused.push_back({DType::kU8, "a number is below 0"});
  EXPECT_THAT(to_text(advice), HasSubstr("too short for 3 ways"));
  EXPECT_THAT(to_text(advice), HasSubstr("uint8: a number is below 0"));
}

TEST(AdviceJson, HasTheChoiceAndAllFigures) {
  simdjson::dom::parser parser;
  const auto json = parsed(parser, to_json(advice_of({.recall = .9})));
  EXPECT_EQ(json["advised"]["datatype"].get_string().value(), "bfloat16");
  EXPECT_EQ(json["advised"]["params"]["effort"].get_int64().value(), 64);
  EXPECT_EQ(json["advised"]["bytes"].get_double().value(), 200);
  EXPECT_TRUE(json["advised"]["meets_limits"].get_bool().value());
  EXPECT_EQ(json["ways"].get_array().size(), 2);
  EXPECT_EQ(json["ways"].at(1)["efforts"].get_array().size(), 2);
  EXPECT_EQ(json["advised"]["indexes"]["build"][""]["spill"].get_bool().value(), false);
}

TEST(AdviceSvg, EscapesTheNameOfTheData) {
  Advice advice = advice_of({.recall = .95});
  advice.data = "<a & b>";
  const std::string svg = to_svg(advice);
  EXPECT_THAT(svg, HasSubstr("&lt;a &amp; b&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("<a & b>")));
}

}  // namespace
}  // namespace quiver::bench::advise
