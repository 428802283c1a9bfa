#include "tests/model/text_reference.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "payload/json/path.h"

namespace quiver::model {
namespace {

/// Insertions, deletions and changes of bytes; all words of this test are ASCII.
std::size_t n_differences(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> least(a.size() + 1,
                                              std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      least[i][j] = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1,
                              least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    }
  }
  return least[a.size()][b.size()];
}

/// The share with which `other` counts for `word`; nullopt: not at all.
std::optional<double> share_of(const std::string& word, const std::string& other,
                               std::size_t max_distance, bool is_prefix) {
  if (is_prefix && other.starts_with(word)) return 1;
  if (word.empty() || other.empty() || word[0] != other[0]) return std::nullopt;
  const std::size_t distance = n_differences(word, other);
  if (distance > std::min(max_distance, (word.size() - 1) / 3)) return std::nullopt;
  return 1 - static_cast<double>(distance) / static_cast<double>(word.size());
}

template <class Words>
bool contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

KeyReference::KeyReference(const payload::FieldIndex& index, const engine::TextMatch& match,
                           double boost)
    : index_(index), match_(match), boost_(boost) {
  const auto number_of = [&](const std::string& word) {
    std::size_t i = 0;
    while (i < sought_.size() && sought_[i].word != word) ++i;
    return i;
  };
  const auto words = words_of(match.text, payload::TokenUse::kQuery);
  for (const auto& word : words) {
    const std::size_t i = number_of(word);
    if (i == sought_.size()) sought_.push_back({word, 0, i});
    sought_[i].share += 1;
    last_ = i;
  }
  n_words_ = sought_.size();
  for (const auto& text : match.rules.required) {
    const auto demanded = words_of(text, payload::TokenUse::kQuery);
    for (const auto& word : std::set<std::string>(demanded.begin(), demanded.end())) {
      if (number_of(word) == sought_.size()) sought_.push_back({word, 1, sought_.size()});
    }
  }
}

KeyReference::Words KeyReference::words_of(const std::string& text, payload::TokenUse use) const {
  return payload::tokenize(text, index_.text, use);
}

void KeyReference::add(const PointId& id, const payload::Value& document) {
  Words words;
  payload::for_each_element(document, payload::JsonPath::parse(index_.key).value(),
                            [&](const payload::Value& value) {
                              const auto* text = value.as_string();
                              if (text == nullptr) return;
                              for (auto& word : words_of(*text, payload::TokenUse::kDocument))
                                words.push_back(word);
                            });
  if (words.empty()) return;
  n_tokens_ += static_cast<double>(words.size());
  vocabulary_.insert(words.begin(), words.end());
  texts_[id] = std::move(words);
}

void KeyReference::expand() {
  const std::size_t n_tokens = sought_.size();
  for (std::size_t i = 0; i < n_tokens; ++i) {
    auto& stand_ins = stand_ins_.emplace_back();
    stand_ins.insert(sought_[i].word);
    for (const auto& word : vocabulary_) {
      const auto share = share_of(sought_[i].word, word, match_.expansion.max_distance,
                                  match_.expansion.last_is_prefix && i == last_);
      if (!share || !stand_ins.insert(word).second) continue;
      const bool is_known = std::any_of(sought_.begin(), sought_.end(),
                                        [&](const Sought& one) { return one.word == word; });
      if (!is_known) sought_.push_back({word, sought_[i].share * *share, i});
    }
  }
}

bool KeyReference::has(const PointId& id, const std::string& word) const {
  const auto found = texts_.find(id);
  return found != texts_.end() && contains(found->second, word);
}

double KeyReference::n_with(const std::string& word) const {
  return static_cast<double>(std::count_if(
      texts_.begin(), texts_.end(), [&](const auto& text) { return contains(text.second, word); }));
}

double KeyReference::score(const PointId& id) const {
  const auto found = texts_.find(id);
  if (found == texts_.end()) return 0;
  const auto& text = found->second;
  const auto n_texts = static_cast<double>(texts_.size());
  const double relative_length = static_cast<double>(text.size()) * n_texts / n_tokens_;
  const auto& [k, b] = match_.params;
  double sum = 0;
  for (const auto& [word, share, origin] : sought_) {
    const auto tf = static_cast<double>(std::count(text.begin(), text.end(), word));
    if (tf == 0) continue;
    double n = 0;  // the word and what stands for it are equally frequent
    for (const auto& other : sought_) {
      if (other.origin == origin) n = std::max(n, n_with(other.word));
    }
    const double idf = std::log(1 + (n_texts - n + 0.5) / (n + 0.5));
    sum += share * idf * tf * (k + 1) / (tf + k * (1 - b + b * relative_length));
  }
  return boost_ * sum;
}

std::size_t KeyReference::minimum() const {
  const auto& [count, percent] = match_.rules.minimum;
  return std::min(n_words_, std::max<std::size_t>(count, n_words_ * percent / 100));
}

bool KeyReference::has_stand_in(const PointId& id, std::size_t number) const {
  const auto& words = stand_ins_[number];
  return std::any_of(words.begin(), words.end(), [&](const auto& word) { return has(id, word); });
}

std::size_t KeyReference::n_held(const PointId& id) const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < n_words_; ++i) n += has_stand_in(id, i) ? 1 : 0;
  return n;
}

bool KeyReference::holds(const PointId& id, const std::string& text, Likeness likeness,
                         bool& has_words) const {
  const auto words = words_of(text, payload::TokenUse::kQuery);
  if (words.empty()) return false;
  has_words = true;
  return std::all_of(words.begin(), words.end(), [&](const auto& word) {
    if (likeness == Likeness::kSame) return has(id, word);
    std::size_t i = 0;
    while (sought_[i].word != word) ++i;
    return has_stand_in(id, i);
  });
}

bool is_allowed(const std::vector<KeyReference>& keys, const payload::WordRules& rules,
                const PointId& id) {
  using Likeness = KeyReference::Likeness;
  const auto some_key_holds = [&](const std::string& text, Likeness likeness, bool& has_words) {
    bool held = false;
    for (const auto& key : keys) held = key.holds(id, text, likeness, has_words) || held;
    return held;
  };
  for (const auto& text : rules.required) {
    bool has_words = false;
    if (!some_key_holds(text, Likeness::kResembling, has_words) && has_words) return false;
  }
  for (const auto& text : rules.excluded) {
    bool has_words = false;
    if (some_key_holds(text, Likeness::kSame, has_words)) return false;
  }
  bool is_rule = false;
  bool is_held = false;
  for (const auto& key : keys) {
    if (!key.has_words()) continue;
    if (key.minimum() == 0) return true;
    is_rule = true;
    is_held = is_held || key.n_held(id) >= key.minimum();
  }
  return is_held || !is_rule;
}

}  // namespace quiver::model
