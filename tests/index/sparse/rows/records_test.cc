#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/io/section_file.h"
#include "index/sparse/type.h"
#include "tests/index/built_index.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;
using base::BuiltIndex;

/// Steps of one byte, of two, and beyond.
TEST(SeismicGaps, ScoreAsBytesDo) {
  Random random(kSeed);
  std::vector<PlainVector> rows = {PlainVector{}};
  for (int i = 0; i < 3000; ++i) {
    std::map<std::uint32_t, float> entries;
    const std::size_t n = random() % 200;
    while (entries.size() < n) {
      const auto index = static_cast<std::uint32_t>(random() % (i % 2 == 0 ? 400 : 5'000'000));
      const float value = 1 + static_cast<float>(random() % 100);
      entries[index] = random() % 8 == 0 ? -value : value;
    }
    PlainVector row;
    for (const auto& [index, value] : entries) {
      row.indices.push_back(index);
      row.values.push_back(value);
    }
    rows.push_back(std::move(row));
  }
  const SparseColumn column = column_of(rows);
  const auto n_rows = static_cast<std::uint32_t>(rows.size());
  const TermMap terms = TermMap::of(column, 0, n_rows);
  ASSERT_GT(terms.size(), 140'000U) << "some steps take more than two bytes";
  const Records bytes = Records::build(column, n_rows, terms, Codec::kU8);
  const Records gaps = Records::build(column, n_rows, terms, Codec::kGaps);
  EXPECT_LT(gaps.bytes(), bytes.bytes());
  std::vector<float> table(terms.size() + 1, 0);
  for (std::uint32_t t = 0; t < terms.size(); ++t) table[t] = static_cast<float>(random() % 100);
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    const float wanted = bytes.score(table.data(), row);
    EXPECT_NEAR(gaps.score(table.data(), row), wanted, std::abs(wanted) * 1e-4) << "row " << row;
  }
}

constexpr SectionFormat kFormat{"records", "QVTESTS1", "QVTESTE1"};

/// What was written, with a byte of the records changed.
TEST(SeismicGaps, AnyBytesAreRefusedOrSafeToScore) {
  Random random(kSeed);
  constexpr std::uint32_t kRows = 100;
  const SparseColumn column = column_of(random_rows({.n_rows = kRows, .n_terms = 2000}, random));
  const TermMap terms = TermMap::of(column, 0, kRows);
  const Records good = Records::build(column, kRows, terms, Codec::kGaps);
  const auto directory = make_memory_directory();
  {
    SectionWriter writer(kFormat, *directory->create_file("good"));
    good.write(writer);
    ASSERT_TRUE(writer.finish(kRows));
  }
  const auto reader = SectionReader::open(kFormat, *directory, "good");
  ASSERT_TRUE(reader);
  ASSERT_TRUE(Records::open(*reader, kRows, terms.size()));
  const std::vector<float> table(terms.size() + 1, 1.0F);
  int n_refused = 0;
  for (int i = 0; i < 500; ++i) {
    const auto changed_files = make_memory_directory();
    SectionWriter writer(kFormat, *changed_files->create_file("bad"));
    for (const std::uint32_t kind : {20U, 21U, 22U}) {
      const auto section = *reader->get<std::byte>(kind);
      std::vector<std::byte> bytes(section.begin(), section.end());
      if (kind == 20U + i % 3) {
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 + random() % 255);
      }
      writer.section(kind, std::span<const std::byte>(bytes));
    }
    ASSERT_TRUE(writer.finish(kRows));
    const auto changed = SectionReader::open(kFormat, *changed_files, "bad");
    ASSERT_TRUE(changed);
    const auto opened = Records::open(*changed, kRows, terms.size());
    if (!opened) {
      EXPECT_EQ(opened.error().code(), Code::kDataLoss);
      ++n_refused;
      continue;
    }
    for (std::uint32_t row = 0; row < kRows; ++row) (void)opened->score(table.data(), row);
  }
  EXPECT_GT(n_refused, 50);
}

}  // namespace
}  // namespace quiver::index::sparse
