#include "payload/column/counts.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/io/file.h"
#include "payload/column/kinds.h"
#include "payload/json/path.h"
#include "tests/payload/random_payload.h"

namespace quiver::payload {
namespace {

/// A value as text, and how many of the rows have it.
using Named = std::vector<std::pair<std::string, std::uint64_t>>;

bool is_of_kind(const Value& value, IndexKind kind) {
  if (kind == IndexKind::kInteger) return value.as_i64() != nullptr;
  if (kind == IndexKind::kBool) return value.as_bool() != nullptr;
  return value.as_string() != nullptr;
}

/// Integers compare as numbers, all else as text; the text of a string has no quotes.
struct Less {
  bool are_integers;
  bool operator()(const std::string& a, const std::string& b) const {
    return are_integers ? std::stoll(a) < std::stoll(b) : a < b;
  }
};

Named counted_by_documents(const std::vector<Value>& documents, const FieldIndex& index,
                           const Bitset& rows) {
  const auto path = *JsonPath::parse(index.key);
  const auto canonical = traits_of(index.kind).canonical;
  std::map<std::string, std::uint64_t, Less> counts(Less{index.kind == IndexKind::kInteger});
  rows.for_each([&](std::size_t row) {
    std::set<std::string> distinct;
    for_each_element(documents[row], path, [&](const Value& value) {
      if (!is_of_kind(value, index.kind)) return;
      const std::string* text = value.as_string();
      if (text == nullptr) {
        distinct.insert(to_json(value));
      } else {
        distinct.insert(canonical == nullptr ? *text : canonical(*text));
      }
    });
    for (const auto& value : distinct) ++counts[value];
  });
  return {counts.begin(), counts.end()};
}

Named named(const ColumnView& column, const std::vector<ValueCount>& counts) {
  Named out;
  for (const auto& count : counts) {
    const auto kind = column.index->kind;
    std::string text = std::to_string(count.integer());
    if (kind == IndexKind::kBool) text = count.value == 0 ? "false" : "true";
    if (traits_of(kind).has_dictionary()) {
      text = column.term(static_cast<std::uint32_t>(count.value));
    }
    out.emplace_back(std::move(text), count.n_rows);
  }
  return out;
}

TEST(Counts, OnlyValuesThatCompareForEqualityCanBeCounted) {
  FieldIndex index;
  for (const auto& [kind, wanted] :
       {std::pair(IndexKind::kKeyword, true), std::pair(IndexKind::kInteger, true),
        std::pair(IndexKind::kUuid, true), std::pair(IndexKind::kBool, true),
        std::pair(IndexKind::kFloat, false), std::pair(IndexKind::kGeo, false),
        std::pair(IndexKind::kDatetime, false), std::pair(IndexKind::kText, false)}) {
    index.kind = kind;
    EXPECT_EQ(is_countable(index), wanted) << static_cast<int>(kind);
  }
}

TEST(Counts, AgreeWithReadingEveryDocument) {
  constexpr std::size_t kRows = 300;
  for (const IndexKind kind :
       {IndexKind::kKeyword, IndexKind::kInteger, IndexKind::kUuid, IndexKind::kBool}) {
    for (const char* key : {"a", "b", "o.a", "r[].a"}) {
      SCOPED_TRACE(std::string(key) + " " + std::to_string(static_cast<int>(kind)));
      RandomPayload random(71);
      FieldIndex index;
      index.key = key;
      index.kind = kind;
      auto growing = *MutableColumn::create(index);
      std::vector<Value> documents;
      for (std::size_t i = 0; i < kRows; ++i) {
        documents.push_back(random.document());
        growing->add_row(documents.back());
      }
      auto directory = make_memory_directory();
      ASSERT_TRUE(write_column(growing->view(), *directory, "c"));
      for (const ColumnView& column : {growing->view(), *open_column(*directory, "c", index)}) {
        const Bitset all(kRows, true);
        EXPECT_EQ(named(column, count_values(column, nullptr)),
                  counted_by_documents(documents, index, all));
        for (const double share : {0.0, 0.01, 0.1, 0.4, 0.6, 0.95, 1.0}) {
          Bitset rows(kRows);
          for (std::size_t row = 0; row < kRows; ++row) {
            if (random.chance(share)) rows.set(row);
          }
          EXPECT_EQ(named(column, count_values(column, &rows)),
                    counted_by_documents(documents, index, rows))
              << share;
        }
      }
    }
  }
}

TEST(Counts, ARowCountsOnceForAValueThatItRepeats) {
  FieldIndex index;
  index.key = "n";
  index.kind = IndexKind::kInteger;
  auto growing = *MutableColumn::create(index);
  growing->add_row(*parse_json(R"({"n":[3,1,3,"x"]})"));
  growing->add_row(*parse_json(R"({"n":3})"));
  growing->add_row(*parse_json(R"({})"));
  auto directory = make_memory_directory();
  ASSERT_TRUE(write_column(growing->view(), *directory, "c"));
  for (const ColumnView& column : {growing->view(), *open_column(*directory, "c", index)}) {
    EXPECT_EQ(named(column, count_values(column, nullptr)), (Named{{"1", 1}, {"3", 2}}));
  }
}

}  // namespace
}  // namespace quiver::payload
