// What tests of Seismic's blocks share: rows that look learned, an index over them, and the
// definition of the right answer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "index/sparse/blocks/blocks.h"
#include "tests/index/support.h"

namespace quiver::index::sparse::testing {

namespace base = quiver::index::testing;
using base::PlainVector;
using base::Random;

inline constexpr std::uint64_t kSeed = 20240614;

inline FieldSchema sparse_schema() {
  return {"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kNone};
}

inline PlainVector sparse(std::vector<std::uint32_t> indices, std::vector<float> values) {
  PlainVector vector;
  vector.indices = std::move(indices);
  vector.values = std::move(values);
  return vector;
}

inline SparseColumn column_of(const std::vector<PlainVector>& vectors) {
  std::vector<std::optional<PlainVector>> all(vectors.begin(), vectors.end());
  return base::make_column(sparse_schema(), all).sparse();
}

struct Topics {
  std::uint32_t n_rows = 2000;
  std::uint32_t n_terms = 600;
  std::uint32_t n_topics = 25;
  std::uint32_t n_nonzero = 30;
  double negative_share = 0;
};

/// Rows draw most terms from one topic; low terms are common. As learned sparse vectors look.
inline PlainVector random_row(const Topics& topics, Random& random) {
  const std::uint32_t topic = random() % topics.n_topics;
  std::map<std::uint32_t, float> entries;
  std::uniform_real_distribution<float> uniform(0, 1);
  for (std::uint32_t i = 0; i < topics.n_nonzero; ++i) {
    const float u = uniform(random);
    const auto term = i % 3 == 0
                          ? static_cast<std::uint32_t>(u * u * topics.n_terms)
                          : (topic * 97 + static_cast<std::uint32_t>(u * u * 60)) % topics.n_terms;
    const float value = std::exp(uniform(random) * 3 - 2);
    entries[term] = uniform(random) < topics.negative_share ? -value : value;
  }
  PlainVector row;
  for (const auto& [term, value] : entries) {
    row.indices.push_back(term);
    row.values.push_back(value);
  }
  return row;
}

inline std::vector<PlainVector> random_rows(const Topics& topics, Random& random) {
  std::vector<PlainVector> rows;
  for (std::uint32_t i = 0; i < topics.n_rows; ++i) rows.push_back(random_row(topics, random));
  return rows;
}

/// An index over rows, and what a search needs beside it.
struct Built {
  explicit Built(SparseColumn sparse, const BlockParams& params = {}, Codec codec = Codec::kF32,
                 Executor* executor = nullptr)
      : column(std::move(sparse)),
        n_rows(static_cast<std::uint32_t>(column.offsets.size() - 1)),
        terms(TermMap::of(column, 0, n_rows)),
        records(Records::build(column, n_rows, terms, codec)) {
    const BuildContext context{executor, cancel, kSeed, {}};
    auto result = Blocks::build(column, n_rows, terms, records, params, context);
    EXPECT_TRUE(result) << result.error().to_string();
    if (result) blocks = *std::move(result);
  }

  std::vector<ScoredRow> search(const PlainVector& query, const BlockSearchParams& params,
                                std::size_t n_wanted, const RowFilter& filter) {
    const auto query_terms = terms.terms_of({query.indices, query.values});
    std::vector<float> table(terms.size() + 1, 0);
    for (const QueryTerm& term : query_terms) table[term.term] = term.weight;
    std::vector<ScoredRow> found;
    const BlockQuery one{query_terms, table.data(), params, n_wanted, &found};
    const auto status = blocks.search(std::span(&one, 1), records, filter, cancel, work);
    EXPECT_TRUE(status);
    return found;
  }
  std::vector<ScoredRow> search(const PlainVector& query, const BlockSearchParams& params,
                                std::size_t n_wanted = 10) {
    return search(query, params, n_wanted, RowFilter::all(n_rows));
  }
  [[nodiscard]] double exact(const PlainVector& query, std::uint32_t row) const {
    const auto score = base::exact_sparse(query, column.row(row));
    return score ? score->score : 0;
  }
  /// The rows in the lists of the `query_cut` largest positive weights.
  std::set<std::uint32_t> reachable(const PlainVector& query, std::size_t query_cut) const {
    auto query_terms = terms.terms_of({query.indices, query.values});
    std::erase_if(query_terms, [](const QueryTerm& t) { return t.weight <= 0; });
    std::sort(query_terms.begin(), query_terms.end(), [](const QueryTerm& a, const QueryTerm& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.term < b.term;
    });
    if (query_terms.size() > query_cut) query_terms.resize(query_cut);
    std::set<std::uint32_t> rows;
    for (const QueryTerm& term : query_terms) {
      const ListHeader& list = blocks.list(term.term);
      for (std::uint32_t b = 0; b < list.n_blocks; ++b) {
        const auto block = blocks.rows(list.first_block + b);
        rows.insert(block.begin(), block.end());
      }
    }
    return rows;
  }
  /// The scores of the `n` best of `rows`, best first.
  std::vector<double> best_of(const PlainVector& query, const std::set<std::uint32_t>& rows,
                              std::size_t n) const {
    std::vector<double> scores;
    for (const std::uint32_t row : rows) scores.push_back(exact(query, row));
    std::sort(scores.begin(), scores.end(), std::greater<>());
    scores.resize(std::min(n, scores.size()));
    return scores;
  }
  void expect_best_of(const PlainVector& query, const std::vector<ScoredRow>& found,
                      const std::set<std::uint32_t>& rows, std::size_t n) const {
    const auto wanted = best_of(query, rows, n);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].score, wanted[i], 1e-4 * (1 + std::abs(wanted[i])));
      EXPECT_NEAR(found[i].score, exact(query, found[i].row), 1e-4 * (1 + std::abs(wanted[i])));
      EXPECT_TRUE(rows.contains(found[i].row));
    }
  }

  Cancel cancel;
  SparseColumn column;
  std::uint32_t n_rows;
  TermMap terms;
  Records records;
  Blocks blocks;
  WorkCounters work;
};

inline std::set<std::uint32_t> all_rows(std::uint32_t n) {
  std::set<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < n; ++row) rows.insert(row);
  return rows;
}

/// Nothing is left out: the answer is that of an exact search over the lists that are walked.
inline BlockParams everything_kept() {
  BlockParams params;
  params.n_postings = 1'000'000;
  params.centroid_fraction = 1;
  params.min_cluster_size = 0;
  params.summary_energy = 1;
  return params;
}

}  // namespace quiver::index::sparse::testing
