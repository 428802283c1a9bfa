#include "payload/text/synonyms.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "payload/text/normalize.h"

namespace quiver::payload {
namespace {

/// Sets of numbers, each known by its least one.
class DisjointSets {
 public:
  void add_one() { parents_.push_back(static_cast<std::uint32_t>(parents_.size())); }
  [[nodiscard]] std::uint32_t least_of(std::uint32_t number) {
    while (parents_[number] != number) {
      parents_[number] = parents_[parents_[number]];
      number = parents_[number];
    }
    return number;
  }
  void unite(std::uint32_t a, std::uint32_t b) {
    const auto [least, other] = std::minmax({least_of(a), least_of(b)});
    parents_[other] = least;
  }

 private:
  std::vector<std::uint32_t> parents_;
};

}  // namespace

SynonymMap::SynonymMap(const TextOptions& options, Stemmer* stemmer) {
  std::vector<std::string> tokens;
  std::unordered_map<std::string, std::uint32_t> numbers;
  DisjointSets sets;
  const auto number_of = [&](const std::string& word) {
    std::string token;
    normalize(word, options, token);
    if (stemmer != nullptr) token = std::string(stemmer->stem(token));
    const auto [entry, is_new] = numbers.emplace(token, static_cast<std::uint32_t>(tokens.size()));
    if (is_new) {
      tokens.push_back(std::move(token));
      sets.add_one();
    }
    return entry->second;
  };
  for (const auto& group : options.synonyms) {
    for (const auto& word : group) sets.unite(number_of(group.front()), number_of(word));
  }
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    first_words_.emplace(tokens[i], tokens[sets.least_of(i)]);
  }
}

}  // namespace quiver::payload
