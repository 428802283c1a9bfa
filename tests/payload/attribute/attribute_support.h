// Documents with the attributes made of them, and filters on both, for tests.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "payload/attribute/builder.h"
#include "payload/attribute/growing.h"
#include "payload/filter/evaluation.h"
#include "payload/filter/filter_tree.h"
#include "payload/filter/predicate.h"
#include "tests/payload/filter/row_set_support.h"

namespace quiver::payload {

inline constexpr std::uint64_t kPlenty = 1 << 26;

inline AttributeLimits limits_of(std::uint64_t max_bytes) {
  AttributeLimits limits;
  limits.max_bytes = max_bytes;
  return limits;
}

inline AttributeSet attributes_of(const std::vector<Value>& documents, std::uint64_t max_bytes) {
  AttributeBuilder builder(limits_of(max_bytes));
  for (const Value& document : documents) builder.add(document);
  return builder.finish();
}

/// Documents with attributes, which are counted when they are read. Without columns, unless some
/// are added.
class DocumentRows : public RowsView {
 public:
  DocumentRows(const std::vector<Value>& documents, const AttributeSet& set) : set_(set) {
    for (const Value& document : documents) {
      ids_.push_back(PointId::number(ids_.size()));
      documents_.push_back(to_json(document));
    }
  }
  [[nodiscard]] std::uint32_t n_rows() const override {
    return static_cast<std::uint32_t>(ids_.size());
  }
  [[nodiscard]] std::span<const PointId> ids() const override { return ids_; }
  [[nodiscard]] bool sorted_ids() const override { return true; }
  [[nodiscard]] Result<std::string_view> document(std::uint32_t row) const override {
    ++n_read;
    return std::string_view(documents_[row]);
  }
  void add_column(ColumnView column) { columns_.push_back(std::move(column)); }
  [[nodiscard]] const ColumnView* column(std::string_view key) const override {
    for (const ColumnView& column : columns_) {
      if (column.index->key == key) return &column;
    }
    return nullptr;
  }
  [[nodiscard]] std::vector<AttributePart> attributes(std::string_view path) const override {
    const auto* view = set_.find(path);
    if (view == nullptr && !set_.leads_nowhere(path)) return {};
    return {{0, n_rows(), view}};
  }
  [[nodiscard]] const std::uint8_t* present(std::string_view) const override { return nullptr; }

  mutable std::size_t n_read = 0;

 private:
  const AttributeSet& set_;
  std::vector<PointId> ids_;
  std::vector<std::string> documents_;
  std::vector<ColumnView> columns_;
};

inline const HasVectorFn kNoVectors = [](std::string_view) { return false; };

inline Bitset matching_documents(const Predicate& predicate, const std::vector<Value>& documents,
                                 const Bitset& candidates) {
  Bitset out(documents.size());
  candidates.for_each([&](std::size_t row) {
    if (predicate.matches(documents[row], PointId::number(row), kNoVectors)) out.set(row);
  });
  return out;
}

/// Evaluates a filter by attributes and by documents. Returns the number of documents it read.
inline std::size_t expect_equal(const std::vector<Value>& documents, const AttributeSet& set,
                                const Filter& filter, const Bitset& candidates) {
  const auto predicate = compile(filter, {});
  if (!predicate) return 0;  // a random filter may be malformed
  const DocumentRows rows(documents, set);
  const auto found = (*predicate)->evaluate(rows, candidates, Cancel());
  EXPECT_TRUE(found);
  const Bitset wanted = matching_documents(**predicate, documents, candidates);
  EXPECT_EQ(*found == wanted, true) << found->count() << " rows, expected " << wanted.count();
  const std::size_t n_read = rows.n_read;
  const auto verdict =
      match_columns(**build_tree(filter, {}), rows, listed_set(candidates), Cancel());
  EXPECT_TRUE(verdict);
  Bitset by_list = matching_documents(**predicate, documents, bits_of(verdict->maybe));
  EXPECT_EQ((by_list |= bits_of(verdict->yes)) == wanted, true);
  const Estimate estimate = (*predicate)->estimate(rows);
  const Bitset all = matching_documents(**predicate, documents, Bitset(documents.size(), true));
  EXPECT_LE(estimate.min, all.count());
  EXPECT_GE(estimate.max, all.count());
  EXPECT_LE(estimate.min, estimate.expected);
  EXPECT_LE(estimate.expected, estimate.max);
  return n_read;
}

/// Parts of a growing segment, of which the last rows have none.
class GrowingDocumentRows : public DocumentRows {
 public:
  GrowingDocumentRows(const std::vector<Value>& documents, const GrowingAttributes::Parts& parts)
      : DocumentRows(documents, kNone), parts_(parts) {}
  [[nodiscard]] std::vector<AttributePart> attributes(std::string_view path) const override {
    std::vector<AttributePart> all;
    for (const auto& part : parts_) {
      const auto* view = part->set.find(path);
      if (view != nullptr || part->set.leads_nowhere(path)) {
        all.push_back({part->first_row, part->n_rows, view});
      }
    }
    return all;
  }

 private:
  static inline const AttributeSet kNone;
  const GrowingAttributes::Parts& parts_;
};

inline Bitset random_rows(std::size_t n, std::mt19937_64& random) {
  Bitset rows(n, random() % 2 == 0);
  if (random() % 2 == 0) return rows;
  for (std::size_t row = 0; row < n; ++row) {
    if (random() % 3 == 0) rows.set(row);
  }
  return rows;
}

}  // namespace quiver::payload
