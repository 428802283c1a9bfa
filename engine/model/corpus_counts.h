// How rare the terms of a query are among points that cannot be counted together: plain structs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace quiver::engine {

/// A token of a text query, or a word that resembles one.
struct TokenCount {
  std::uint64_t n_texts = 0;  ///< texts with it
  std::string origin;         ///< the token of the query that it stands for
};

/// The texts under one key.
struct TextCounts {
  std::uint64_t n_texts = 0;
  std::uint64_t n_tokens = 0;  ///< of all texts
  std::map<std::string, TokenCount, std::less<>> tokens;
};

/// The points over which the IDF of a query counts.
struct CorpusCounts {
  std::uint64_t n_vectors = 0;                      ///< points with a vector of its sparse field
  std::map<std::uint32_t, std::uint64_t> of_index;  ///< points with each index of the query
  std::map<std::string, TextCounts, std::less<>> of_key;  ///< text queries
};

/// Adds the counts of other points.
void add_counts(const CorpusCounts& more, CorpusCounts& counts);

}  // namespace quiver::engine
