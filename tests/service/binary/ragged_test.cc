// Ragged bodies: what is put in comes out, and whatever is wrong is said, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "service/binary/ragged.h"

namespace quiver::service {
namespace {

using engine::MultiVector;
using engine::PointInput;
using ::testing::HasSubstr;

constexpr std::uint32_t kRaggedDim = 3;
constexpr std::uint64_t kDamageSeed = 3;
constexpr std::size_t kHeaderBytes = 40;

FieldSchema field_of(DType dtype = DType::kF32) {
  return {"tokens", FieldKind::kMulti, kRaggedDim, dtype, Metric::kDot, {}};
}

/// A body whose parts a test can set one by one.
struct Body {
  std::string magic = "QVRAGGED";
  std::uint32_t version = 1, dtype = 0, dim = kRaggedDim, flags = 0;
  std::vector<std::uint64_t> ids = {7, 1, 1ULL << 63};
  std::vector<std::uint64_t> offsets = {0, 2, 3, 7};
  std::optional<std::uint64_t> n_points, n_tokens;
  std::vector<float> values = numbers(7 * kRaggedDim);
  std::vector<std::string> payloads;

  static std::vector<float> numbers(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i) * 0.5F;
    return values;
  }
  template <class T>
  static void put(std::string& out, const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  template <class T>
  static void put_all(std::string& out, const std::vector<T>& values) {
    for (const T& value : values) put(out, value);
  }
  [[nodiscard]] std::string text() const {
    std::string out = magic;
    for (const auto number : {version, dtype, dim, flags}) put(out, number);
    put(out, n_points.value_or(offsets.size() - 1));
    put(out, n_tokens.value_or(values.size() / kRaggedDim));
    put_all(out, ids);
    put_all(out, offsets);
    for (const float value : values) put_value(out, value);
    if (payloads.empty()) return out;
    out.resize((out.size() + 7) / 8 * 8);
    for (const auto& payload : payloads) {
      put(out, static_cast<std::uint32_t>(payload.size()));
      out += payload;
    }
    return out;
  }

 private:
  void put_value(std::string& out, float value) const {
    if (dtype == 0) return put(out, value);
    if (dtype == 2) return put(out, static_cast<std::uint8_t>(value));
    std::uint16_t half = 0;
    kernels().convert.f32_to_f16(&value, 1, &half);
    put(out, half);
  }
};

Decoded<std::vector<PointInput>> decode(const std::string& text,
                                        RaggedPayloads payloads = RaggedPayloads::kTaken) {
  return decode_ragged(text, field_of(), payloads);
}

void expect_refused(const Body& body, std::string_view text,
                    RaggedPayloads payloads = RaggedPayloads::kTaken) {
  const auto decoded = decode(body.text(), payloads);
  ASSERT_FALSE(decoded) << text;
  EXPECT_EQ(decoded.error().status, 400);
  EXPECT_EQ(decoded.error().text, "Wrong input: " + std::string(text));
}

void expect_points(const Body& body, const std::vector<PointInput>& points) {
  ASSERT_EQ(points.size(), body.offsets.size() - 1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    ASSERT_EQ(points[i].vectors.size(), 1U);
    EXPECT_EQ(points[i].vectors[0].name, "tokens");
    const auto& value = std::get<MultiVector>(points[i].vectors[0].value);
    const auto first = body.offsets[i], end = body.offsets[i + 1];
    const MultiVector wanted{
        static_cast<std::uint32_t>(end - first),
        kRaggedDim,
        {body.values.data() + first * kRaggedDim, body.values.data() + end * kRaggedDim}};
    EXPECT_EQ(value, wanted);
  }
}

TEST(Ragged, ReadsEveryType) {
  for (const std::uint32_t dtype : {0U, 1U, 2U}) {
    Body body;
    body.dtype = dtype;
    if (dtype == 2) {
      for (float& value : body.values) value = std::floor(value);
    }
    const auto points = decode(body.text());
    ASSERT_TRUE(points) << points.error().text;
    expect_points(body, *points);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ((*points)[i].id, PointId::number(body.ids[i]));
    EXPECT_EQ((*points)[0].payload, "");
  }
}

TEST(Ragged, ReadsUuidsAndPayloads) {
  Body body;
  body.flags = 3;
  body.values = Body::numbers(6 * kRaggedDim + 3);  // an odd number, so that there is a gap
  body.ids = {1, 2, 3, 4, 5, 6};
  body.payloads = {R"({"a": [1, 2.0]})", "", "{}"};
  const auto points = decode(body.text());
  ASSERT_TRUE(points) << points.error().text;
  expect_points(body, *points);
  EXPECT_EQ((*points)[0].id.to_string(), "01000000-0000-0000-0200-000000000000");
  EXPECT_EQ((*points)[0].payload, R"({"a":[1,2.0]})");
  EXPECT_EQ((*points)[1].payload, "");
  EXPECT_EQ((*points)[2].payload, "{}");
}

template <class Change>
Body changed(Change change) {
  Body body;
  change(body);
  return body;
}

TEST(Ragged, SaysWhatIsWrongWithTheHeader) {
  expect_refused(changed([](Body& b) { b.magic = "QVRAGGEX"; }),
                 "ragged body: it does not begin with `QVRAGGED`");
  expect_refused(changed([](Body& b) { b.version = 2; }), "ragged body: version is 2, must be 1");
  expect_refused(changed([](Body& b) { b.dtype = 3; }),
                 "ragged body: dtype is 3, must be 0 (float32), 1 (float16) or 2 (uint8)");
  expect_refused(changed([](Body& b) { b.dim = 4; }),
                 "Vector dimension error: expected dim: 3, got 4");
  expect_refused(
      changed([](Body& b) { b.flags = 8; }),
      "ragged body: flags are 8, may be 1 (ids are UUIDs) plus 2 (payloads follow), or 4 "
      "(points follow)");
  expect_refused(
      changed([](Body& b) { b.flags = 2; }),
      "ragged body: flags are 2, may be 1 (ids are UUIDs): an update of vectors takes no payloads",
      RaggedPayloads::kRefused);
  expect_refused(changed([](Body& b) { b.n_points = 0; }),
                 "ragged body: n_points is 0, must be 1 or larger");
  expect_refused(changed([](Body& b) { b.n_tokens = 2; }),
                 "ragged body: 2 tokens for 3 points, each must have one at least");
}

TEST(Ragged, SaysWhichSizesDoNotAddUp) {
  const auto decoded = decode("QVRAGGED");
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().text,
            "Wrong input: ragged body: the header should take 1 x 40 bytes from byte 0 on, but the "
            "body has 8 bytes");
  expect_refused(
      changed([](Body& b) { b.n_points = 1ULL << 40, b.n_tokens = 1ULL << 60; }),
      "ragged body: ids should take 1099511627776 x 8 bytes from byte 40 on, but the body has 180 "
      "bytes");
  expect_refused(changed([](Body& b) { b.offsets.back() = 8, b.n_tokens = 8; }),
                 "ragged body: the matrix should take 8 x 12 bytes from byte 96 on, but the body "
                 "has 180 bytes");
  expect_refused(changed([](Body& b) { b.values.push_back(1); }),
                 "ragged body: 4 bytes follow the last part, which ends at byte 180");
  expect_refused(changed([](Body& b) {
                   b.flags = 2, b.payloads = {"{}", "{}"};
                 }),
                 "ragged body: payload 2's length should take 1 x 4 bytes from byte 196 on, but "
                 "the body has 196 bytes");
}

TEST(Ragged, SaysWhatIsWrongWithOffsets) {
  expect_refused(changed([](Body& b) {
                   b.offsets = {1, 2, 3, 7};
                 }),
                 "ragged body: offsets begin with 1, must begin with 0");
  expect_refused(changed([](Body& b) {
                   b.offsets = {0, 3, 2, 7};
                 }),
                 "ragged body: point 1 has the tokens from 3 to 2: offsets must ascend, and each "
                 "point must have one token at least");
  expect_refused(changed([](Body& b) {
                   b.offsets = {0, 2, 2, 7};
                 }),
                 "ragged body: point 1 has the tokens from 2 to 2: offsets must ascend, and each "
                 "point must have one token at least");
  expect_refused(changed([](Body& b) {
                   b.offsets = {0, 2, 3, 6};
                 }),
                 "ragged body: offsets end with 6, must end with the number of tokens, 7");
}

TEST(Ragged, SaysWhatIsWrongWithValues) {
  expect_refused(changed([](Body& b) { b.values[10] = NAN; }),
                 "ragged body: point 2, token 0, position 1: the value is nan, must be finite");
  expect_refused(changed([](Body& b) { b.dtype = 1, b.values[1] = INFINITY; }),
                 "ragged body: point 0, token 0, position 1: the value is inf, must be finite");
  const Body no_object = changed([](Body& b) { b.flags = 2, b.payloads = {"", "[1]", ""}; });
  const auto decoded = decode(no_object.text());
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().text, HasSubstr("ragged body: payload 1: "));
  std::string gap = changed([](Body& b) { b.flags = 2, b.payloads = {"", "", ""}; }).text();
  gap[181] = 1;
  EXPECT_EQ(decode(gap).error().text,
            "Wrong input: ragged body: byte 181 is 1, must be 0: it fills up to the next part");
}

TEST(Ragged, IsForMultiVectors) {
  auto field = field_of();
  EXPECT_TRUE(check_takes_ragged(field));
  field.kind = FieldKind::kDense;
  EXPECT_EQ(check_takes_ragged(field).error().text,
            "Wrong input: vector `tokens` is a dense vector, but a ragged body holds "
            "multi-vectors");
}

/// Tokens of two fields, and the points that they belong to.
struct BodyOfPoints {
  Body tokens = changed([](Body& b) { b.flags = 4, b.ids = {}, b.offsets = {0, 2, 2, 7}; });
  Body images = changed([](Body& b) {
    b.flags = 4, b.ids = {}, b.offsets = {0, 0, 1, 1}, b.dtype = 1, b.values = {1.5F, -2, 0};
  });
  std::string json = R"({"points":[{"id":5,"vector":{"d":[1,2]},"payload":{"a":1}},)"
                     R"({"id":"00000000-0000-0000-0000-000000000007","vector":{}},)"
                     R"({"id":6,"vector":{}}]})";

  [[nodiscard]] std::string text() const {
    std::string out;
    for (const Body* body : {&tokens, &images}) {
      out += body->text();
      out.resize((out.size() + 7) / 8 * 8);
    }
    return out + json;
  }
};

Decoded<engine::Upsert> decode_points(const std::string& text) {
  auto images = field_of();
  images.name = "images";
  return decode_ragged_points(text, std::vector{field_of(), images});
}

void expect_points_refused(const BodyOfPoints& body, std::string_view text) {
  const auto decoded = decode_points(body.text());
  ASSERT_FALSE(decoded) << text;
  EXPECT_EQ(decoded.error().status, 400);
  EXPECT_EQ(decoded.error().text, "Wrong input: ragged body: " + std::string(text));
}

using Vectors = std::vector<std::pair<std::string, engine::VectorValue>>;

Vectors vectors_of(const PointInput& point) {
  Vectors vectors;
  for (const auto& [name, value] : point.vectors) vectors.emplace_back(name, value);
  return vectors;
}

TEST(RaggedPoints, JoinTokensOfSeveralFieldsToPoints) {
  const BodyOfPoints body;
  EXPECT_TRUE(has_ragged_points(body.text()));
  EXPECT_FALSE(has_ragged_points(Body().text()));
  EXPECT_FALSE(has_ragged_points("QVRAGGED"));
  const auto upsert = decode_points(body.text());
  ASSERT_TRUE(upsert) << upsert.error().text;
  const auto& points = upsert->points;
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].id, PointId::number(5));
  EXPECT_EQ(points[0].payload, R"({"a":1})");
  EXPECT_EQ(points[1].id, PointId::uuid(0, 7));
  const auto numbers = Body::numbers(7 * kRaggedDim);
  const std::vector<float> first(numbers.begin(), numbers.begin() + 6);
  const std::vector<float> others(numbers.begin() + 6, numbers.end());
  EXPECT_EQ(vectors_of(points[0]), (Vectors{{"d", engine::DenseVector{1, 2}},
                                            {"tokens", MultiVector{2, kRaggedDim, first}}}));
  EXPECT_EQ(vectors_of(points[1]),
            (Vectors{{"images", MultiVector{1, kRaggedDim, {1.5F, -2, 0}}}}));
  EXPECT_EQ(vectors_of(points[2]), (Vectors{{"tokens", MultiVector{5, kRaggedDim, others}}}));
}

TEST(RaggedPoints, SayWhatIsWrong) {
  BodyOfPoints body;
  body.tokens.flags = 5;
  expect_points_refused(body, "flags are 5, must be 4 (points follow) for each field");
  body = {};
  body.images.flags = 0;
  expect_points_refused(body, "flags are 0, must be 4 (points follow) for each field");
  body = {};
  body.tokens.offsets = {0, 3, 2, 7};
  expect_points_refused(body, "point 1 has the tokens from 3 to 2: offsets must ascend");
  body = {};
  body.images.offsets = {0, 1};
  expect_points_refused(body, "tokens of 1 points, but 3 points follow");
  body = {};
  body.tokens.n_points = UINT64_MAX;
  expect_points_refused(body, "n_points is 18446744073709551615, more than any body holds");
  body = {};
  body.images.values[2] = NAN;
  expect_points_refused(body, "point 1, token 0, position 2: the value is nan, must be finite");
  body = {};
  body.json = R"({"points":[{"id":1,"vector":{"tokens":[[1,2,3]]}},{"id":2,"vector":{}},)"
              R"({"id":3,"vector":{}}]})";
  expect_points_refused(body, "point 0 has vector `tokens` twice");
  body.json = "{}";
  EXPECT_THAT(decode_points(body.text()).error().text, HasSubstr("points"));
  body.json = "";
  EXPECT_THAT(decode_points(body.text()).error().text, HasSubstr("the body is empty"));
}

TEST(RaggedPoints, SurviveDamage) {
  const std::string text = BodyOfPoints().text();
  ASSERT_TRUE(decode_points(text));
  for (std::size_t n = 0; n < text.size(); ++n) {
    EXPECT_FALSE(decode_points(text.substr(0, n))) << n << " bytes of " << text.size();
  }
  std::mt19937_64 random(kDamageSeed);
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = text;
    for (auto n = 1 + random() % 6; n > 0; --n) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const auto decoded = decode_points(damaged);
    if (decoded) continue;
    EXPECT_GE(decoded.error().status, 400);
    EXPECT_LT(decoded.error().status, 500);
  }
}

Body whole() {
  Body body;
  body.flags = 3;
  body.ids = {1, 2, 3, 4, 5, 6};
  body.payloads = {R"({"a":1})", "", R"({"b":"text"})"};
  return body;
}

/// Decodes points for an update; otherwise the error must be one of the client's.
void expect_sound(const std::string& text) {
  const auto decoded = decode(text);
  if (!decoded) {
    EXPECT_EQ(decoded.error().status, 400);
    EXPECT_FALSE(decoded.error().text.empty());
    return;
  }
  for (const auto& point : *decoded) {
    const auto& value = std::get<MultiVector>(point.vectors.at(0).value);
    ASSERT_GT(value.n_tokens, 0U);
    ASSERT_EQ(value.values.size(), std::size_t{value.n_tokens} * kRaggedDim);
    for (const float number : value.values) ASSERT_TRUE(std::isfinite(number));
  }
}

TEST(Ragged, SurvivesEveryTruncation) {
  const std::string text = whole().text();
  ASSERT_TRUE(decode(text));
  for (std::size_t n = 0; n < text.size(); ++n) {
    EXPECT_FALSE(decode(text.substr(0, n))) << n << " bytes of " << text.size();
  }
}

TEST(Ragged, SurvivesFlippedBytes) {
  const std::string text = whole().text();
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const int flip : {0x01, 0x40, 0x80, 0xFF}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      expect_sound(damaged);
    }
  }
  std::mt19937_64 random(kDamageSeed);
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = text;
    for (auto n = 1 + random() % 6; n > 0; --n) {
      const auto at = random() % (random() % 2 == 0 ? kHeaderBytes : damaged.size());
      damaged[at] = static_cast<char>(random());
    }
    damaged.resize(random() % 4 == 0 ? random() % (2 * damaged.size()) : damaged.size());
    expect_sound(damaged);
  }
}

}  // namespace
}  // namespace quiver::service
