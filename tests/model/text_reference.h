// Text queries answered by their definition (docs/text.md): every text is cut into words anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/model/query.h"
#include "payload/json/document.h"
#include "payload/schema.h"
#include "payload/text/analyzer.h"

namespace quiver::model {

/// The texts of all points under one key of a query, and the words that the query looks for there.
class KeyReference {
 public:
  KeyReference(const payload::FieldIndex& index, const engine::TextMatch& match, double boost);

  void add(const PointId& id, const payload::Value& document);
  /// Finds the words that resemble those of the query. Once, after all points.
  void expand();

  [[nodiscard]] double score(const PointId& id) const;
  /// False if the query has no words for the key.
  [[nodiscard]] bool has_words() const { return n_words_ > 0; }
  [[nodiscard]] std::size_t minimum() const;
  /// Number of distinct words of the query that the point holds, or words that resemble them.
  [[nodiscard]] std::size_t n_held(const PointId& id) const;
  enum class Likeness { kSame, kResembling };
  /// True if the point holds all words of `text`. `has_words` becomes true if it has any.
  [[nodiscard]] bool holds(const PointId& id, const std::string& text, Likeness likeness,
                           bool& has_words) const;

 private:
  /// A word to look for, in the name of the query's word number `origin`.
  struct Sought {
    std::string word;
    double share = 0;
    std::size_t origin = 0;
  };
  using Words = std::vector<std::string>;

  [[nodiscard]] Words words_of(const std::string& text, payload::TokenUse use) const;
  [[nodiscard]] double n_with(const std::string& word) const;
  [[nodiscard]] bool has(const PointId& id, const std::string& word) const;
  [[nodiscard]] bool has_stand_in(const PointId& id, std::size_t number) const;

  const payload::FieldIndex& index_;
  const engine::TextMatch& match_;
  double boost_;
  std::map<PointId, Words> texts_;  ///< those with at least one word
  double n_tokens_ = 0;
  std::set<std::string> vocabulary_;
  std::vector<Sought> sought_;                    ///< first the words of the query and its demands
  std::vector<std::set<std::string>> stand_ins_;  ///< of each of these, itself included
  std::size_t n_words_ = 0;                       ///< distinct words of the query's text
  std::size_t last_ = static_cast<std::size_t>(-1);  ///< number of the last of them
};

/// True if the rules of the query allow the point.
[[nodiscard]] bool is_allowed(const std::vector<KeyReference>& keys,
                              const payload::WordRules& rules, const PointId& id);

}  // namespace quiver::model
