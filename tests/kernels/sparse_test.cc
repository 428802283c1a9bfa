#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240502;

using SparseTest = KernelTest;
QV_EVERY_LEVEL(SparseTest);

using Entries = std::map<std::uint32_t, float>;

/// `n` entries with indices below `below`, which is at least `n`.
Entries random_entries(std::size_t n, std::uint32_t below, std::mt19937& random) {
  Entries entries;
  std::normal_distribution<float> value;
  if (n > below / 2) {
    std::vector<std::uint32_t> all(below);
    for (std::uint32_t i = 0; i < below; ++i) all[i] = i;
    std::shuffle(all.begin(), all.end(), random);
    for (std::size_t i = 0; i < n; ++i) entries[all[i]] = value(random);
  }
  while (entries.size() < n) entries[static_cast<std::uint32_t>(random() % below)] = value(random);
  return entries;
}

/// Rows one after another in blocks without a spare byte.
class Rows {
 public:
  explicit Rows(const std::vector<Entries>& rows) : n_(rows.size()) {
    std::size_t n_entries = 0;
    for (const Entries& row : rows) n_entries += row.size();
    offsets_.reset(new std::uint64_t[n_ + 1]());
    indices_.reset(new std::uint32_t[n_entries]);
    values_.reset(new float[n_entries]);
    std::size_t at = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (const auto& [index, value] : rows[i]) {
        indices_[at] = index;
        values_[at++] = value;
      }
      offsets_[i + 1] = at;
    }
  }
  [[nodiscard]] CsrRows view() const { return {offsets_.get(), indices_.get(), values_.get()}; }
  [[nodiscard]] std::size_t size() const { return n_; }

 private:
  std::size_t n_;
  std::unique_ptr<std::uint64_t[]> offsets_;
  std::unique_ptr<std::uint32_t[]> indices_;
  std::unique_ptr<float[]> values_;
};

enum class Form { kScattered, kMerged };

/// A query in blocks without a spare byte.
class PreparedQuery {
 public:
  PreparedQuery(const Entries& entries, Form form) {
    query_.n = entries.size();
    indices_.reset(new std::uint32_t[query_.n]);
    values_.reset(new float[query_.n]);
    std::size_t at = 0;
    for (const auto& [index, value] : entries) {
      indices_[at] = index;
      values_[at++] = SparseQuery::stored(value);
      query_.filter.add(index);
    }
    query_.indices = indices_.get();
    query_.values = values_.get();
    if (form == Form::kScattered) scatter(entries.empty() ? 0 : entries.rbegin()->first + 1);
  }
  [[nodiscard]] const SparseQuery& view() const { return query_; }

 private:
  void scatter(std::uint32_t dim) {
    scattered_.reset(new float[dim + std::size_t{1}]());
    for (std::size_t i = 0; i < query_.n; ++i) scattered_[indices_[i]] = values_[i];
    query_.scattered = scattered_.get();
    query_.dim = dim;
  }

  SparseQuery query_;
  std::unique_ptr<std::uint32_t[]> indices_;
  std::unique_ptr<float[]> values_;
  std::unique_ptr<float[]> scattered_;
};

std::vector<float> many(const KernelTable& k, const Entries& query, const Rows& rows, Form form) {
  const PreparedQuery prepared(query, form);
  std::vector<float> out(rows.size());
  k.sparse.many(prepared.view(), rows.view(), 0, rows.size(), out.data());
  return out;
}

float one(const KernelTable& k, const Entries& query, const Entries& row, Form form) {
  return many(k, query, Rows({row}), form)[0];
}

void expect_same_bits(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(same_bits(got[i], want[i])) << "row " << i << ": " << got[i] << ", not " << want[i];
  }
}

void expect_exact(float got, const Entries& query, const Entries& row) {
  Exact want;
  bool shared = false;
  for (const auto& [index, value] : row) {
    const auto at = query.find(index);
    if (at == query.end()) continue;
    shared = true;
    want.similarity += double{at->second} * value;
    want.magnitude += std::abs(double{at->second} * value);
  }
  ASSERT_EQ(std::isnan(got), !shared);
  if (!shared) return;
  const auto n = static_cast<std::uint32_t>(row.size());
  ASSERT_NEAR(got, want.similarity, bound(n, want.magnitude));
}

// Every length of a row, queries of few and of many entries.
TEST_P(SparseTest, MeetsTheBoundAtEveryLength) {
  constexpr std::uint32_t kDim = 400;
  std::mt19937 random(kSeed);
  std::vector<Entries> rows;
  for (std::size_t n = 0; n <= 300; ++n) rows.push_back(random_entries(n, kDim, random));
  const Rows stored(rows);
  for (const std::size_t n_query : {0, 1, 2, 5, 26, 60, 200, 400}) {
    const Entries query = random_entries(n_query, kDim, random);
    const auto scattered = many(k(), query, stored, Form::kScattered);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      SCOPED_TRACE(std::to_string(n_query) + " x " + std::to_string(i) + ", seed " +
                   std::to_string(kSeed));
      ASSERT_NO_FATAL_FAILURE(expect_exact(scattered[i], query, rows[i]));
    }
    expect_same_bits(many(k(), query, stored, Form::kMerged), scattered);
  }
}

// Large spaces, where different indices look alike to the filter, and rows of several pieces.
TEST_P(SparseTest, LongRowsInLargeSpaces) {
  std::mt19937 random(kSeed);
  for (const std::uint32_t dim : {1u << 10, 30'522u, 1u << 17, 1u << 31, 0xffffffffu}) {
    std::vector<Entries> rows;
    for (const std::size_t n : {1, 15, 193, 1023, 1024, 1025, 3000}) {
      rows.push_back(random_entries(std::min<std::size_t>(n, dim), dim, random));
    }
    Entries query = random_entries(40, dim, random);
    for (const auto& [index, value] : rows[3]) {
      if (index % 7 == 0) query[index] = 0.5f - value;
    }
    const Rows stored(rows);
    const auto merged = many(k(), query, stored, Form::kMerged);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      SCOPED_TRACE("dim " + std::to_string(dim) + " row " + std::to_string(i));
      ASSERT_NO_FATAL_FAILURE(expect_exact(merged[i], query, rows[i]));
    }
    if (dim < 1u << 20) expect_same_bits(many(k(), query, stored, Form::kScattered), merged);
  }
}

TEST_P(SparseTest, ARowScoresTheSameBitsInEveryForm) {
  std::mt19937 random(kSeed);
  std::vector<Entries> rows;
  for (int i = 0; i < 50; ++i) rows.push_back(random_entries(random() % 300, 3000, random));
  const Rows stored(rows);
  const PreparedQuery query(random_entries(200, 3000, random), Form::kScattered);
  std::vector<float> want(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    k().sparse.many(query.view(), stored.view(), i, 1, &want[i]);
  }
  std::vector<float> run(20);
  k().sparse.many(query.view(), stored.view(), 25, run.size(), run.data());
  expect_same_bits(run, {want.begin() + 25, want.begin() + 45});
  for (std::size_t n = 0; n <= 2 * rows.size(); n += 3) {
    std::vector<std::uint32_t> ids(n);
    std::vector<float> expected(n), got(n);
    for (std::size_t i = 0; i < n; ++i) expected[i] = want[ids[i] = random() % rows.size()];
    k().sparse.gather(query.view(), stored.view(), ids.data(), n, got.data());
    expect_same_bits(got, expected);
  }
}

// Indices beyond the query's last one are not looked up, whatever the filter says.
TEST_P(SparseTest, IndicesBeyondTheQueryContributeNothing) {
  for (const std::uint32_t beyond : {6u, 5u + 1024u, 0x7fffffffu, 0x80000005u, 0xffffffffu}) {
    for (const Form form : {Form::kScattered, Form::kMerged}) {
      EXPECT_EQ(one(k(), {{5, 2.0f}}, {{5, 3.0f}, {beyond, 7.0f}}, form), 6.0f);
      EXPECT_TRUE(std::isnan(one(k(), {{5, 2.0f}}, {{beyond, 7.0f}}, form)));
    }
  }
}

// A stored zero counts as a shared index; a missing one does not.
TEST_P(SparseTest, SharingAnIndexDecides) {
  for (const Form form : {Form::kScattered, Form::kMerged}) {
    EXPECT_TRUE(same_bits(one(k(), {{1, 0.0f}}, {{1, 5.0f}}, form), 0.0f));
    EXPECT_TRUE(same_bits(one(k(), {{1, -0.0f}}, {{1, 5.0f}}, form), 0.0f));
    EXPECT_TRUE(same_bits(one(k(), {{1, 5.0f}}, {{1, -0.0f}}, form), 0.0f));
    EXPECT_TRUE(same_bits(one(k(), {{1, 2.0f}, {2, 1.0f}}, {{1, 1.0f}, {2, -2.0f}}, form), 0.0f));
    EXPECT_TRUE(std::isnan(one(k(), {{1, 5.0f}}, {{0, 5.0f}, {2, 5.0f}}, form)));
    EXPECT_TRUE(std::isnan(one(k(), {}, {{0, 5.0f}}, form)));
    EXPECT_TRUE(std::isnan(one(k(), {{0, 5.0f}}, {}, form)));
  }
}

TEST_P(SparseTest, ExtremeValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Form form : {Form::kScattered, Form::kMerged}) {
    for (std::uint32_t i = 0; i < 40; ++i) {
      Entries row;
      for (std::uint32_t j = 0; j < 40; ++j) row[3 * j] = 1.0f;
      row[3 * i] = 1e-30f;
      EXPECT_TRUE(same_bits(one(k(), {{3 * i, -1e-30f}}, row, form), 0.0f)) << "underflow";
      row[3 * i] = 1e-45f;
      EXPECT_EQ(one(k(), {{3 * i, 1.0f}}, row, form), 1e-45f);
      row[3 * i] = 3e38f;
      EXPECT_EQ(one(k(), {{3 * i, 1.0f}}, row, form), 3e38f);
      EXPECT_EQ(one(k(), {{3 * i, -2.0f}}, row, form), -kInfinity);
    }
  }
}

}  // namespace
}  // namespace quiver::testing
