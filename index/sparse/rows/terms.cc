#include "index/sparse/rows/terms.h"

#include <algorithm>

namespace quiver::index::sparse {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFF;
/// Keys below this are found in a table of at most 4 MiB.
constexpr TermMap::Key kDirectKeys = 1 << 20;
/// Keys below this are collected in a bitmap, others by sorting.
constexpr std::uint64_t kMarkedKeys = 1ULL << 28;

std::vector<TermMap::Key> marked_keys(const std::vector<std::uint64_t>& words) {
  std::vector<TermMap::Key> keys;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::uint64_t word = words[i]; word != 0; word &= word - 1) {
      keys.push_back(i * 64 + static_cast<std::uint64_t>(__builtin_ctzll(word)));
    }
  }
  return keys;
}

}  // namespace

TermMap::TermMap(SharedSpan<Key> keys) : keys_(std::move(keys)) {
  if (keys_.empty() || keys_[keys_.size() - 1] >= kDirectKeys) return;
  direct_.assign(keys_[keys_.size() - 1] + 1, kNone);
  for (std::uint32_t i = 0; i < size(); ++i) direct_[keys_[i]] = i;
}

TermMap TermMap::of(const SparseColumn& column, std::uint32_t first, std::uint32_t n) {
  const std::size_t begin = column.offsets[first];
  const std::size_t end = column.offsets[first + n];
  std::vector<std::uint64_t> marks;
  std::vector<Key> large;
  for (std::size_t i = begin; i < end; ++i) {
    const Key key = key_of(column.indices[i], column.values[i]);
    if (key >= kMarkedKeys) {
      large.push_back(key);
      continue;
    }
    if (key / 64 >= marks.size()) marks.resize(std::max(key / 64 + 1, marks.size() * 2));
    marks[key / 64] |= 1ULL << (key % 64);
  }
  auto keys = marked_keys(marks);
  std::sort(large.begin(), large.end());
  large.erase(std::unique(large.begin(), large.end()), large.end());
  keys.insert(keys.end(), large.begin(), large.end());
  return TermMap(SharedSpan<Key>::of(std::move(keys)));
}

std::optional<std::uint32_t> TermMap::find(Key key) const {
  if (!direct_.empty()) {
    if (key >= direct_.size() || direct_[key] == kNone) return std::nullopt;
    return direct_[key];
  }
  const auto keys = keys_.span();
  const auto found = std::lower_bound(keys.begin(), keys.end(), key);
  if (found == keys.end() || *found != key) return std::nullopt;
  return static_cast<std::uint32_t>(found - keys.begin());
}

std::uint32_t TermMap::at(Key key) const { return find(key).value_or(0); }

std::vector<QueryTerm> TermMap::terms_of(const SparseView& query) const {
  std::vector<QueryTerm> terms;
  terms.reserve(query.indices.size());
  for (std::size_t i = 0; i < query.indices.size(); ++i) {
    const Key key = key_of(query.indices[i], 0);
    if (const auto term = find(key)) terms.push_back({*term, query.values[i]});
    if (const auto term = find(key + 1)) terms.push_back({*term, -query.values[i]});
  }
  return terms;
}

}  // namespace quiver::index::sparse
