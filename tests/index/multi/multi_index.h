// What tests of the whole multi-vector index share: documents with topics, and an index over them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/io/file.h"
#include "index/index.h"
#include "tests/index/built_index.h"
#include "tests/index/support.h"

namespace quiver::index::testing {

[[nodiscard]] inline const IndexType& multi_type() { return *find_index_type("multi"); }

/// Documents whose tokens are words of some topics, and queries that share words with a document:
/// independent tokens would have no neighbours to find.
class Topics {
 public:
  Topics(FieldSchema schema, Random& random) : schema_(std::move(schema)), random_(random) {
    for (std::size_t topic = 0; topic < kTopics; ++topic) {
      const auto centre = near({}, 1);
      for (std::size_t word = 0; word < kWords; ++word) words_.push_back(near(centre, 1));
    }
  }

  [[nodiscard]] PlainVector document(std::size_t n_tokens) {
    const std::size_t topics[] = {random_() % kTopics, random_() % kTopics};
    PlainVector tokens;
    for (std::size_t t = 0; t < n_tokens; ++t) {
      append(near(words_[topics[random_() % 2] * kWords + random_() % kWords], 0.3F), tokens);
    }
    return tokens;
  }
  /// Tokens like those of `document`.
  [[nodiscard]] PlainVector query_like(const PlainVector& document, std::size_t n_tokens) {
    PlainVector tokens;
    const std::size_t dim = schema_.dim;
    for (std::size_t t = 0; t < n_tokens; ++t) {
      const auto first =
          document.values.begin() +
          static_cast<std::ptrdiff_t>(random_() % (document.values.size() / dim) * dim);
      append(near({first, first + static_cast<std::ptrdiff_t>(dim)}, 0.4F), tokens);
    }
    return tokens;
  }

 private:
  static constexpr std::size_t kTopics = 24;
  static constexpr std::size_t kWords = 30;

  [[nodiscard]] std::vector<float> near(const std::vector<float>& centre, float noise) {
    std::vector<float> token(schema_.dim);
    for (std::size_t d = 0; d < token.size(); ++d) {
      token[d] = (centre.empty() ? 0 : centre[d]) +
                 noise * normal_(random_) / std::sqrt(static_cast<float>(token.size()));
    }
    scale_to_unit(token.data(), token.size());
    return token;
  }
  void append(const std::vector<float>& token, PlainVector& tokens) const {
    const bool bytes = schema_.dtype == DType::kU8;
    for (const float value : token) {
      tokens.values.push_back(bytes ? std::clamp(std::round(128 + 200 * value), 0.0F, 255.0F)
                                    : value);
    }
  }

  FieldSchema schema_;
  Random& random_;
  std::normal_distribution<float> normal_;
  std::vector<std::vector<float>> words_;
};

/// Documents, and queries for them.
struct Corpus {
  Corpus(const FieldSchema& schema, std::size_t n_rows, Random& random, double present_share = 1,
         float length = 1) {
    Topics topics(schema, random);
    std::vector<std::optional<PlainVector>> rows;
    std::uniform_real_distribution<double> share(0, 1);
    for (std::size_t row = 0; row < n_rows; ++row) {
      rows.emplace_back(topics.document(4 + random() % 24));
      if (row < 30) queries.push_back(topics.query_like(*rows.back(), 8));
      for (float& value : rows.back()->values) value *= length;
      if (share(random) >= present_share) rows.back().reset();
    }
    column = make_column(schema, rows);
  }

  FieldColumn column;
  std::vector<PlainVector> queries;
};

inline constexpr std::uint64_t kMultiIndexSeed = 7;

inline void build_multi(const FieldColumn& column, const KeyValues& values, Directory& directory,
                        Executor* executor = nullptr) {
  build_index(multi_type(), column, values, directory, executor, kMultiIndexSeed);
}

struct MultiIndex : BuiltIndex {
  explicit MultiIndex(FieldColumn rows, const KeyValues& values = {},
                      const QuerySample* queries = nullptr)
      : BuiltIndex(multi_type(), std::move(rows), values, kMultiIndexSeed, queries) {}

  [[nodiscard]] Found find(const PreparedQuery& query, const KeyValues& values,
                           const Bitset& allowed, std::size_t k,
                           Prefer prefer = Prefer::kAny) const {
    return BuiltIndex::find(query, values, RowFilter::of(allowed), k, prefer);
  }
};

}  // namespace quiver::index::testing
