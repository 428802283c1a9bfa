#include "payload/json/edit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/payload/random_payload.h"

namespace quiver::payload {
namespace {

std::string set_at(std::string_view document, std::string_view patch, std::string_view key) {
  return *set(document, patch, *JsonPath::parse(key));
}

std::string removed(std::string_view document, std::vector<std::string> keys) {
  std::vector<JsonPath> paths;
  for (const auto& key : keys) paths.push_back(*JsonPath::parse(key));
  return *remove_keys(document, paths);
}

std::vector<JsonPath> paths(const std::vector<std::string>& texts) {
  std::vector<JsonPath> out;
  for (const auto& text : texts) out.push_back(*JsonPath::parse(text));
  return out;
}

TEST(Edit, SetMergesAtTheTop) {
  EXPECT_EQ(*set(R"({"a":1,"b":2})", R"({"b":{"x":1},"c":3})"), R"({"a":1,"b":{"x":1},"c":3})");
  EXPECT_EQ(*set(R"({"a":1,"b":2})", R"({"a":null})"), R"({"b":2})");
  EXPECT_EQ(*set("", R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(*set(R"({"a":1})", "{}"), R"({"a":1})");
}

TEST(Edit, SetMergesUnderAPath) {
  EXPECT_EQ(set_at(R"({"a":{"b":{"x":1}}})", R"({"y":2})", "a.b"), R"({"a":{"b":{"x":1,"y":2}}})");
  EXPECT_EQ(set_at(R"({})", R"({"y":2})", "a.b"), R"({"a":{"b":{"y":2}}})");
  EXPECT_EQ(set_at(R"({"a":5})", R"({"y":2})", "a.b"), R"({"a":{"b":{"y":2}}})");
  EXPECT_EQ(set_at(R"({"a":[{"x":1},{"x":2}]})", R"({"y":3})", "a[]"),
            R"({"a":[{"x":1,"y":3},{"x":2,"y":3}]})");
  EXPECT_EQ(set_at(R"({"a":[{"x":1},7]})", R"({"y":3})", "a[1]"), R"({"a":[{"x":1},{"y":3}]})");
  EXPECT_EQ(set_at(R"({"a":[1]})", R"({"y":3})", "a[5]"), R"({"a":[1]})");
  EXPECT_EQ(set_at(R"({})", R"({"y":3})", "a[]"), R"({"a":[]})");
  EXPECT_EQ(set_at(R"({"a":{"x":1}})", R"({"y":3})", "a[0]"), R"({"a":[]})");
  EXPECT_EQ(set_at(R"({"a":{"x":1}})", R"({"x":null})", "a"), R"({"a":{}})");
}

TEST(Edit, RemoveFollowsPaths) {
  EXPECT_EQ(removed(R"({"a":1,"b":2})", {"a", "zz"}), R"({"b":2})");
  EXPECT_EQ(removed(R"({"a":{"b":1,"c":2}})", {"a.b"}), R"({"a":{"c":2}})");
  EXPECT_EQ(removed(R"({"a":[{"b":1,"c":2},{"b":3}]})", {"a[].b"}), R"({"a":[{"c":2},{}]})");
  EXPECT_EQ(removed(R"({"a":[{"b":1},{"b":3}]})", {"a[1].b"}), R"({"a":[{"b":1},{}]})");
  EXPECT_EQ(removed(R"({"a":[1,2]})", {"a[]"}), R"({"a":[]})");
  EXPECT_EQ(removed(R"({"a":[1,2]})", {"a[0]"}), R"({"a":[1,2]})");
  EXPECT_EQ(removed(R"({"a":[1,2]})", {"a.b", "a[7].x"}), R"({"a":[1,2]})");
}

TEST(Edit, OnlyObjectsAreDocuments) {
  for (const char* text : {"1", "[]", "null", "\"x\"", "{"}) {
    EXPECT_FALSE(set(text, "{}")) << text;
    EXPECT_FALSE(set("{}", text)) << text;
    EXPECT_FALSE(overwrite(text)) << text;
    EXPECT_FALSE(remove_keys(text, {})) << text;
  }
  EXPECT_EQ(overwrite("[]").error().message(), "payload must be a JSON object");
  EXPECT_EQ(*overwrite(" {\"a\" : 1.0} "), R"({"a":1.0})");
}

TEST(Edit, SetDoesNotBuildWhatCannotBeReadBack) {
  std::string key = "a";
  for (int i = 0; i < 200; ++i) key += ".a";
  const auto result = set("{}", "{}", *JsonPath::parse(key));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kInvalidArgument);
}

TEST(Edit, RandomEditsAgreeWithPlainReasoning) {
  RandomPayload random(21);
  for (int i = 0; i < 2000; ++i) {
    const Value document = random.document();
    const Value patch = random.document();
    const Value merged = *parse_json(*set(to_json(document), to_json(patch)));
    for (const auto& [key, value] : *document.as_object()) {
      if (patch.find(key) != nullptr) continue;
      ASSERT_TRUE(*merged.find(key) == value);
    }
    for (const auto& [key, value] : *patch.as_object()) {
      ASSERT_EQ(merged.find(key) == nullptr, value.is_null());
      if (value.is_null()) continue;
      ASSERT_TRUE(*merged.find(key) == value);
    }
    const JsonPath path = *JsonPath::parse(random.key());
    const std::string once = *set(to_json(document), to_json(patch), path);
    ASSERT_EQ(*set(once, to_json(patch), path), once) << "setting twice is setting once";
    const std::vector<JsonPath> gone{path};
    const std::string less = *remove_keys(to_json(document), gone);
    ASSERT_EQ(*remove_keys(less, gone), less) << "so is removing";
    int n_left = 0;
    const Value rest = *parse_json(less);
    for_each_value(rest, path, [&](const Value&) { ++n_left; });
    ASSERT_EQ(n_left, 0) << path.to_string() << " in " << less;
  }
}

TEST(Select, WholeAndNothing) {
  EXPECT_EQ(select(R"({"a":1})", Selector::all()), R"({"a":1})");
  EXPECT_EQ(select(R"({"a":1})", Selector::none()), "{}");
  EXPECT_EQ(select("", Selector::all()), "{}");
}

TEST(Select, IncludeKeepsWhatLiesOnAPath) {
  const char* document = R"({"a":{"b":{"c":1},"d":2},"r":[{"x":1,"y":2},3],"s":5})";
  const auto include = [&](std::vector<std::string> keys) {
    return select(document, Selector::include(paths(keys)));
  };
  EXPECT_EQ(include({"a"}), R"({"a":{"b":{"c":1},"d":2}})");
  EXPECT_EQ(include({"a.b"}), R"({"a":{"b":{"c":1}}})");
  EXPECT_EQ(include({"a.b.c", "s"}), R"({"a":{"b":{"c":1}},"s":5})");
  EXPECT_EQ(include({"r[].x"}), R"({"r":[{"x":1},3]})");
  EXPECT_EQ(include({"r.x"}), R"({"r":[]})");
  EXPECT_EQ(include({"s.x"}), R"({"s":5})");
  EXPECT_EQ(include({"nothing"}), "{}");
  EXPECT_EQ(include({}), "{}");
}

TEST(Select, ExcludeDropsWhatLiesBelowAPath) {
  const char* document = R"({"a":{"b":{"c":1},"d":2},"r":[{"x":1,"y":2},3],"s":5})";
  const auto exclude = [&](std::vector<std::string> keys) {
    return select(document, Selector::exclude(paths(keys)));
  };
  EXPECT_EQ(exclude({"a", "r"}), R"({"s":5})");
  EXPECT_EQ(exclude({"a.b"}), R"({"a":{"d":2},"r":[{"x":1,"y":2},3],"s":5})");
  EXPECT_EQ(exclude({"r[].x", "a"}), R"({"r":[{"y":2},3],"s":5})");
  EXPECT_EQ(exclude({}), document);
}

/// Every scalar with its path, with array steps as `[]`.
void leaves(const Value& value, std::string place, std::vector<std::string>& out) {
  if (const Object* object = value.as_object()) {
    for (const auto& [key, member] : *object) leaves(member, place + "." + key, out);
  } else if (const Array* array = value.as_array()) {
    for (const Value& element : *array) leaves(element, place + ".[]", out);
  } else {
    out.push_back(place + "=" + to_json(value));
  }
}

TEST(Select, ExcludedAndIncludedLeavesMakeTheWhole) {
  RandomPayload random(22);
  for (int i = 0; i < 2000; ++i) {
    const Value document = random.document();
    const std::vector<std::string> keys{"a", "b", "c", "o.a", "r[].a"};
    const auto chosen = paths({keys[static_cast<std::size_t>(random.below(5))]});
    std::vector<std::string> all, in, out;
    leaves(document, "", all);
    leaves(*parse_json(select(to_json(document), Selector::include(chosen))), "", in);
    leaves(*parse_json(select(to_json(document), Selector::exclude(chosen))), "", out);
    // Both selectors show a scalar at which the path would go deeper.
    for (const auto& leaf : in) {
      if (std::find(out.begin(), out.end(), leaf) == out.end()) out.push_back(leaf);
    }
    std::sort(all.begin(), all.end());
    std::sort(out.begin(), out.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    ASSERT_EQ(out, all) << to_json(document) << " " << chosen.front().to_string();
  }
}

}  // namespace
}  // namespace quiver::payload
