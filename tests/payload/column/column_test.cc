#include "payload/column/column.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "base/hash.h"
#include "base/mutex.h"
#include "payload/column/format.h"
#include "payload/column/kinds.h"
#include "tests/payload/random_payload.h"

namespace quiver::payload {
namespace {

FieldIndex make_index(std::string key, IndexKind kind) {
  FieldIndex index;
  index.key = std::move(key);
  index.kind = kind;
  return index;
}

ColumnView column_of(const FieldIndex& index, const std::vector<std::string>& documents) {
  auto column = *MutableColumn::create(index);
  for (const auto& document : documents) column->add_row(*parse_json(document));
  return column->view();
}

/// The contents of a row, independent of the numbering of terms.
std::string describe(const ColumnView& column, std::uint32_t row) {
  std::string out =
      std::to_string(column.facts[row].count) + "/" + std::to_string(column.facts[row].flags) + ":";
  const IndexTraits& traits = traits_of(column.index->kind);
  switch (traits.storage) {
    case ValueStorage::kTerms:
      for (const auto id : column.row_terms(row)) {
        out += id == ColumnView::kGap    ? "|"
               : traits.has_dictionary() ? std::string(column.term(id))
                                         : std::to_string(id);
        out += ",";
      }
      break;
    case ValueStorage::kIntegers:
      for (const auto value : column.row_integers(row)) out += std::to_string(value) + ",";
      break;
    case ValueStorage::kDoubles:
      for (const auto value : column.row_doubles(row)) out += to_json(Value(value)) + ",";
      break;
    case ValueStorage::kPoints:
      for (const auto& p : column.row_points(row)) {
        out += to_json(Value(p.lon)) + " " + to_json(Value(p.lat)) + ",";
      }
      break;
  }
  return out;
}

std::vector<std::string> describe(const ColumnView& column) {
  std::vector<std::string> out;
  for (std::uint32_t row = 0; row < column.n_rows; ++row) out.push_back(describe(column, row));
  return out;
}

ColumnView through_file(const ColumnView& column) {
  auto directory = make_memory_directory();
  EXPECT_TRUE(write_column(column, *directory, "c"));
  auto opened = open_column(*directory, "c", *column.index);
  EXPECT_TRUE(opened) << opened.error().message();
  return *opened;
}

TEST(Column, KeepsValuesOfItsTypeAndFactsOfAll) {
  const std::vector<std::string> documents{R"({"k":"x"})", R"({"k":["x",1,null,"y"]})",
                                           R"({"k":[]})",  R"({"k":null})",
                                           R"({})",        R"({"k":[[1]]})"};
  const ColumnView column = column_of(make_index("k", IndexKind::kKeyword), documents);
  using F = RowFacts;
  const auto fact = [](std::uint32_t count, std::uint32_t flags) { return RowFacts{count, flags}; };
  EXPECT_EQ(column.facts[0], fact(1, F::kPresent | F::kElement));
  EXPECT_EQ(column.facts[1], fact(4, F::kPresent | F::kElement | F::kNull | F::kOther));
  EXPECT_EQ(column.facts[2], fact(0, F::kPresent | F::kEmpty));
  EXPECT_EQ(column.facts[3], fact(0, F::kPresent | F::kEmpty | F::kNull));
  EXPECT_EQ(column.facts[4], fact(0, F::kEmpty));
  EXPECT_EQ(column.facts[5], fact(1, F::kPresent | F::kElement | F::kOther));
  EXPECT_EQ(column.n_terms(), 2U);
  EXPECT_EQ(column.term(column.find_term("y")), "y");
  EXPECT_EQ(column.find_term("z"), ColumnView::kNoTerm);
  EXPECT_EQ(column.count_rows_with_values(Bitset(6, true)), 2U);
  EXPECT_EQ(std::vector(column.irregular.begin(), column.irregular.end()),
            (std::vector<std::uint32_t>{1, 5}));
}

TEST(Column, TextKeepsTokensInOrderWithGaps) {
  const auto column = column_of(make_index("t", IndexKind::kText),
                                {R"({"t":["Deep sea","", "deep"]})", R"({"t":"one"})"});
  EXPECT_EQ(describe(column, 0).substr(describe(column, 0).find(':')), ":deep,sea,|,|,deep,");
  EXPECT_TRUE(column.facts[0].has(RowFacts::kManyTexts));
  EXPECT_FALSE(column.facts[1].has(RowFacts::kManyTexts));
}

TEST(Column, FloatMarksIntegersItCannotHold) {
  const auto column = column_of(make_index("f", IndexKind::kFloat),
                                {R"({"f":9007199254740993})", R"({"f":[1,2.5]})"});
  EXPECT_TRUE(column.facts[0].has(RowFacts::kInexact));
  EXPECT_EQ(column.row_doubles(1)[0], 1.0);
  EXPECT_EQ(column.row_doubles(1)[1], 2.5);
}

TEST(Column, SealedEqualsMutableForEveryKind) {
  RandomPayload random(51);
  std::vector<Value> documents;
  for (int i = 0; i < 500; ++i) documents.push_back(random.document());
  for (std::size_t kind = 0; kind < kIndexKindNames.size(); ++kind) {
    for (const char* key : {"a", "r[].a", "a[]", "o.b"}) {
      const auto index = make_index(key, static_cast<IndexKind>(kind));
      auto column = *MutableColumn::create(index);
      for (const auto& document : documents) column->add_row(document);
      const ColumnView sealed = through_file(column->view());
      EXPECT_TRUE(sealed.sealed);
      ASSERT_EQ(describe(sealed), describe(column->view())) << kind << " " << key;
      for (std::uint32_t id = 1; id < sealed.term_offsets.size() - 1 && sealed.n_terms() > 2;
           ++id) {
        ASSERT_LT(sealed.term(id - 1), sealed.term(id));
        ASSERT_EQ(sealed.find_term(sealed.term(id)), id);
      }
      ASSERT_TRUE(std::is_sorted(sealed.sorted_integers.begin(), sealed.sorted_integers.end()));
      ASSERT_TRUE(std::is_sorted(sealed.sorted_doubles.begin(), sealed.sorted_doubles.end()));
      EXPECT_EQ(describe(through_file(sealed)), describe(sealed)) << "sealing a sealed one";
    }
  }
}

TEST(Column, MergingDoesNotDependOnHowSourcesAreCut) {
  RandomPayload random(52);
  std::vector<Value> documents;
  for (int i = 0; i < 300; ++i) documents.push_back(random.document());
  std::vector<RowOrigin> in_one, in_three;
  for (std::uint32_t row = 0; row < 300; row += 1 + row % 2) {
    in_one.push_back({0, row});
    in_three.push_back({row % 3, row / 3});
  }
  for (std::size_t kind = 0; kind < kIndexKindNames.size(); ++kind) {
    const auto index = make_index("a", static_cast<IndexKind>(kind));
    auto one = *MutableColumn::create(index);
    std::vector<std::unique_ptr<MutableColumn>> three;
    for (int i = 0; i < 3; ++i) three.push_back(*MutableColumn::create(index));
    for (std::size_t row = 0; row < 300; ++row) {
      one->add_row(documents[row]);
      three[row % 3]->add_row(documents[row]);
    }
    const std::vector<ColumnView> whole{one->view()};
    std::vector<ColumnView> parts;
    for (const auto& part : three) parts.push_back(part->view());
    parts[1] = through_file(parts[1]);
    auto directory = make_memory_directory();
    ASSERT_TRUE(write_column(whole, in_one, *directory, "one"));
    ASSERT_TRUE(write_column(parts, in_three, *directory, "three"));
    ASSERT_EQ(*directory->read_file("one"), *directory->read_file("three")) << kind;
  }
}

TEST(Column, BuildsFromDocuments) {
  auto directory = make_memory_directory();
  const auto index = make_index("k", IndexKind::kKeyword);
  const std::vector<std::string> documents{R"({"k":"b"})", "", R"({"k":"a"})"};
  const auto document = [&](std::uint32_t row) { return std::string_view(documents[row]); };
  ASSERT_TRUE(build_sealed_column(index, 3, document, *directory, "c"));
  const auto column = *open_column(*directory, "c", index);
  EXPECT_EQ(column.term(column.row_terms(0)[0]), "b");
  EXPECT_EQ(column.postings(column.find_term("a"))[0], 2U);
  const auto broken = build_sealed_column(
      index, 3, [](std::uint32_t) { return std::string_view("{"); }, *directory, "d");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code(), Code::kDataLoss);
  EXPECT_FALSE(directory->exists("d"));
}

TEST(Column, EmptyColumnsAreFiles) {
  for (std::size_t kind = 0; kind < kIndexKindNames.size(); ++kind) {
    const auto column = through_file(column_of(make_index("k", static_cast<IndexKind>(kind)), {}));
    EXPECT_EQ(column.n_rows, 0U);
    EXPECT_EQ(column.count_rows_with_values(Bitset()), 0U);
    through_file(column_of(make_index("k", static_cast<IndexKind>(kind)), {"{}", "{}"}));
  }
}

TEST(Column, AnotherIndexIsRefused) {
  auto directory = make_memory_directory();
  const auto index = make_index("k", IndexKind::kText);
  ASSERT_TRUE(write_column(column_of(index, {R"({"k":"x"})"}), *directory, "c"));
  auto other_key = index;
  other_key.key = "l";
  auto other_kind = index;
  other_kind.kind = IndexKind::kKeyword;
  auto other_text = index;
  other_text.text.lowercase = false;
  auto other_stemmer = index;
  other_stemmer.text.stemmer = StemmerLanguage::kEnglish;
  for (const auto& other : {other_key, other_kind, other_text, other_stemmer}) {
    const auto opened = open_column(*directory, "c", other);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Code::kFailedPrecondition);
  }
  auto echoed = index;
  echoed.client_settings = "{}";
  EXPECT_TRUE(open_column(*directory, "c", echoed)) << "the echoed schema plays no part";
  EXPECT_EQ(open_column(*directory, "missing", index).error().code(), Code::kNotFound);
  EXPECT_FALSE(MutableColumn::create(make_index("a..b", IndexKind::kBool)));
}

TEST(Column, TheAnalysisOfTextsIsPartOfTheIndex) {
  auto directory = make_memory_directory();
  auto stemmed = make_index("k", IndexKind::kText);
  stemmed.text.stemmer = StemmerLanguage::kEnglish;
  ASSERT_TRUE(write_column(column_of(stemmed, {R"({"k":"running"})"}), *directory, "c"));
  const auto opened = open_column(*directory, "c", stemmed);
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_NE(opened->find_term("run"), ColumnView::kNoTerm);
  EXPECT_EQ(opened->find_term("running"), ColumnView::kNoTerm);
  auto german = stemmed;
  german.text.stemmer = StemmerLanguage::kGerman;
  EXPECT_EQ(open_column(*directory, "c", german).error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(open_column(*directory, "c", make_index("k", IndexKind::kText)).error().code(),
            Code::kFailedPrecondition);
}

/// Files of released versions must be read and written with the same bytes for ever:
/// docs/formats/payload-column.md.
TEST(Column, GoldenFiles) {
  const auto real = *open_real_directory("tests/payload/golden");
  const auto index = make_index("k", IndexKind::kKeyword);
  const auto column =
      column_of(index, {R"({"k":"red"})", "{}", R"({"k":["blue","red"]})", R"({"k":[7,null]})"});
  for (const int version : {1, 2}) {
    SCOPED_TRACE(version);
    const std::string golden = "column-v" + std::to_string(version) + ".qvc";
    const auto directory = make_memory_directory();
    if (version == 2) directory->set_owner(0x1122334455667788);
    const auto below = *directory->subdirectory("12");
    ASSERT_TRUE(write_column(column, *below, "c"));
    const auto written = *below->read_file("c");
    if (std::getenv("QUIVER_WRITE_GOLDEN") != nullptr) {
      ASSERT_TRUE(real->replace_file(golden, written));
    }
    const auto kept = real->read_file(golden);
    ASSERT_TRUE(kept) << kept.error().to_string();
    EXPECT_EQ(static_cast<int>((*kept)[8]), version);
    EXPECT_TRUE(*kept == written) << "the bytes that are written have changed";
    ASSERT_TRUE(below->replace_file("c", *kept));
    const auto opened = open_column(*below, "c", index);
    ASSERT_TRUE(opened) << opened.error().to_string();
    EXPECT_EQ(describe(*opened), describe(through_file(column)));
  }
}

TEST(Column, AFileOfAnotherPlaceIsRefused) {
  const auto index = make_index("k", IndexKind::kKeyword);
  const auto mine = make_memory_directory();
  const auto other = make_memory_directory();
  mine->set_owner(1);
  other->set_owner(2);
  ASSERT_TRUE(write_column(column_of(index, {R"({"k":"mine"})"}), *mine, "c"));
  ASSERT_TRUE(write_column(column_of(index, {R"({"k":"other"})"}), *other, "c"));
  ASSERT_TRUE(open_column(*other, "c", index));
  ASSERT_TRUE(mine->replace_file("c", *other->read_file("c")));
  auto opened = open_column(*mine, "c", index);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kDataLoss);
  EXPECT_NE(opened.error().message().find("another owner"), std::string::npos);

  ASSERT_TRUE(write_column(column_of(index, {R"({"k":"mine"})"}), *mine, "of another segment"));
  ASSERT_TRUE(mine->replace_file("c", *mine->read_file("of another segment")));
  opened = open_column(*mine, "c", index);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("another path"), std::string::npos);

  const auto old = make_memory_directory();  // version 1 has no origin
  ASSERT_TRUE(write_column(column_of(index, {R"({"k":"old"})"}), *old, "c"));
  ASSERT_TRUE(mine->replace_file("c", *old->read_file("c")));
  EXPECT_TRUE(open_column(*mine, "c", index));
}

class DamagedColumn : public testing::Test {
 protected:
  DamagedColumn() {
    RandomPayload random(53);
    auto column = *MutableColumn::create(index_);
    for (int i = 0; i < 60; ++i) column->add_row(random.document());
    EXPECT_TRUE(write_column(column->view(), *directory_, "good"));
    bytes_ = *directory_->read_file("good");
  }
  Result<ColumnView> open(std::span<const std::byte> bytes) {
    EXPECT_TRUE(directory_->replace_file("bad", bytes));
    return open_column(*directory_, "bad", index_);
  }

  FieldIndex index_ = make_index("a", IndexKind::kText);
  std::unique_ptr<Directory> directory_ = make_memory_directory();
  std::vector<std::byte> bytes_;
};

TEST_F(DamagedColumn, TruncationIsAnError) {
  for (std::size_t size = 0; size < bytes_.size(); size += size < 200 ? 1 : 37) {
    const auto opened = open(std::span(bytes_).first(size));
    ASSERT_FALSE(opened) << size;
    EXPECT_EQ(opened.error().code(), Code::kDataLoss);
  }
  ASSERT_TRUE(open(bytes_));
}

TEST_F(DamagedColumn, EveryFlippedBitIsAnError) {
  std::mt19937_64 random(54);
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::size_t at = i < bytes_.size() ? i : random() % bytes_.size();
    auto flipped = bytes_;
    flipped[at] ^= std::byte{1} << (random() % 8);
    ASSERT_FALSE(open(flipped)) << at;
  }
}

TEST_F(DamagedColumn, WrongNumbersUnderARightChecksumDoNotCrash) {
  std::mt19937_64 random(55);
  int n_refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto changed = bytes_;
    changed[24 + random() % (changed.size() - 24)] = std::byte(random());
    format::Header header;
    std::memcpy(&header, changed.data(), sizeof(header));
    header.checksum = 0;
    std::memcpy(changed.data(), &header, sizeof(header));
    header.checksum = checksum(changed);
    std::memcpy(changed.data(), &header, sizeof(header));
    const auto opened = open(changed);
    if (!opened) {
      ++n_refused;
      continue;
    }
    describe(*opened);
    for (std::uint32_t id = 0; id < opened->n_terms(); ++id) {
      EXPECT_LE(opened->postings(id).size(), opened->n_rows);
    }
  }
  EXPECT_GT(n_refused, 300);
}

TEST(Column, ReadersSeeTheirRowsWhileTheWriterAppends) {
  RandomPayload random(56);
  std::vector<Value> documents;
  for (int i = 0; i < 2000; ++i) documents.push_back(random.document());
  const auto index = make_index("a", IndexKind::kText);
  auto column = *MutableColumn::create(index);
  Mutex mutex;
  ColumnView current = column->view();
  std::atomic<bool> done = false;
  std::thread reader([&] {
    std::vector<std::string> before;
    while (!done.load()) {
      ColumnView view;
      {
        MutexLock lock(mutex);
        view = current;
      }
      const auto now = describe(view);
      ASSERT_TRUE(std::equal(before.begin(), before.end(), now.begin()));
      before = now;
      EXPECT_EQ(view.find_term("no such word"), ColumnView::kNoTerm);
    }
  });
  for (std::size_t row = 0; row < documents.size(); ++row) {
    column->add_row(documents[row]);
    if (row % 7 != 0) continue;
    MutexLock lock(mutex);
    current = column->view();
  }
  done = true;
  reader.join();
  EXPECT_EQ(column->n_rows(), 2000U);
  EXPECT_GT(column->memory_bytes(), 2000 * sizeof(RowFacts));
}

}  // namespace
}  // namespace quiver::payload
