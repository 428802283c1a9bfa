// The files of the index of multi-vectors: the golden files, damage.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "tests/index/multi/multi_index.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint64_t kFileSeed = 20261123;

FieldSchema file_schema(std::uint32_t dim) {
  return {"", FieldKind::kMulti, dim, DType::kF32, Metric::kDot, SparseModifier::kNone};
}

TEST(MultiFile, AnyDamagedByteIsFound) {
  Random random(kFileSeed);
  const Corpus corpus(file_schema(128), 300, random);
  const auto directory = make_memory_directory();
  build_multi(corpus.column, {{"stage", "mean"}}, *directory);
  const auto files = *directory->list();
  EXPECT_EQ(files.size(), 4U) << "multi.qvx, tokens.qvx, signs.qvx, lists.qvx";
  for (const auto& file : files) {
    auto bytes = *directory->read_file(file.name);
    for (int i = 0; i < 20; ++i) {
      const std::size_t at = random() % bytes.size();
      bytes[at] ^= std::byte{1};
      ASSERT_TRUE(directory->replace_file(file.name, bytes));
      const auto opened = multi_type().open(*directory, corpus.column);
      ASSERT_FALSE(opened) << file.name << ", byte " << at;
      EXPECT_EQ(opened.error().code(), Code::kDataLoss);
      bytes[at] ^= std::byte{1};
    }
    ASSERT_TRUE(directory->replace_file(file.name, bytes));
  }
  EXPECT_TRUE(multi_type().open(*directory, corpus.column));
}

/// A column by arithmetic alone, the same with every library; each tenth row has no vector.
FieldColumn golden_tokens() {
  std::uint32_t state = 1;
  const auto next = [&state] { return state = state * 1'664'525U + 1'013'904'223U, state >> 16; };
  std::vector<std::optional<PlainVector>> vectors;
  for (std::uint32_t row = 0; row < 60; ++row) {
    PlainVector vector;
    for (std::uint32_t i = 0; i < (1 + row % 5) * 8; ++i) {
      const auto topic = static_cast<float>((row % 6 + 1) * (i % 8) % 11);
      vector.values.push_back(topic / 8 + static_cast<float>(next() % 64) / 64.0F);
    }
    vectors.emplace_back(std::move(vector));
    if (row % 10 == 7) vectors.back().reset();
  }
  return make_column(file_schema(8), vectors);
}

constexpr std::pair<const char*, const char*> kGoldenFiles[] = {
    {"multi.qvx", "multi-v1.qvx"}, {"tokens.qvx", "multi-v1-tokens.qvx"}};

/// What version 1 wrote is read, and written, for ever: another version has other golden files.
TEST(MultiFile, TheGoldenFilesAreReadAndWritten) {
  const FieldColumn column = golden_tokens();
  const auto real = open_real_directory("tests/index/golden");
  ASSERT_TRUE(real);
  const auto directory = make_memory_directory();
  build_multi(column,
              {{"stage", "fde"}, {"planes", std::int64_t{2}}, {"token_bits", std::int64_t{4}}},
              *directory);
  for (const auto& [name, golden_name] : kGoldenFiles) {
    const auto bytes = *directory->read_file(name);
    if (std::getenv("QUIVER_WRITE_GOLDEN") != nullptr) {
      ASSERT_TRUE((*real)->replace_file(golden_name, bytes));
    }
    const auto golden = (*real)->read_file(golden_name);
    ASSERT_TRUE(golden) << golden.error().to_string();
    EXPECT_TRUE(*golden == bytes) << "the bytes that are written to " << name << " have changed";
    ASSERT_TRUE(directory->replace_file(name, *golden));
  }
  const auto opened = multi_type().open(*directory, column);
  ASSERT_TRUE(opened) << opened.error().to_string();
  const auto facts = (*opened)->describe().facts;
  const auto has = [&](const char* name, const ParamValue& value) {
    return std::find(facts.begin(), facts.end(), std::pair(std::string(name), value)) !=
           facts.end();
  };
  EXPECT_TRUE(has("stage", std::string("fde")));
  EXPECT_TRUE(has("planes", std::int64_t{2}));
  EXPECT_TRUE(has("token_bits", std::int64_t{4}));
}

}  // namespace
}  // namespace quiver::index::testing
