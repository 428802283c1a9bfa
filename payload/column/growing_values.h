// The values of a growing column. Each part is an AppendBuffer, so a view is a few pointers into
// memory that is never written again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/io/append_buffer.h"
#include "base/io/shared_span.h"
#include "payload/filter.h"
#include "payload/text/analyzer.h"

namespace quiver::payload {

/// Numbers texts in the order of their first appearance. Only the writer uses the hash table.
class Dictionary {
 public:
  Dictionary() { offsets_.append(0); }

  std::uint32_t find_or_add(std::string_view text) {
    if (hashes_.size() * 2 >= slots_.size()) grow();
    const std::uint64_t hash = hash_text(text);
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != kFree; slot = (slot + 1) & (slots_.size() - 1)) {
      const std::uint32_t id = slots_[slot];
      if (hashes_.span()[id] == hash && term(id) == text) return id;
    }
    const auto id = static_cast<std::uint32_t>(hashes_.size());
    slots_[slot] = id;
    hashes_.append(hash);
    bytes_.append(std::span<const char>(text.data(), text.size()));
    offsets_.append(bytes_.size());
    return id;
  }
  [[nodiscard]] SharedSpan<std::uint64_t> offsets() const { return offsets_.view(); }
  [[nodiscard]] SharedSpan<char> bytes() const { return bytes_.view(); }
  [[nodiscard]] SharedSpan<std::uint64_t> hashes() const { return hashes_.view(); }
  [[nodiscard]] std::size_t memory_bytes() const {
    return offsets_.memory_bytes() + bytes_.memory_bytes() + hashes_.memory_bytes() +
           slots_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  [[nodiscard]] std::string_view term(std::uint32_t id) const {
    const auto offsets = offsets_.span();
    return {bytes_.span().data() + offsets[id],
            static_cast<std::size_t>(offsets[id + 1] - offsets[id])};
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, kFree);
    const auto hashes = hashes_.span();
    for (std::uint32_t id = 0; id < hashes.size(); ++id) {
      std::size_t slot = hashes[id] & (slots_.size() - 1);
      while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = id;
    }
  }

  AppendBuffer<std::uint64_t> offsets_;
  AppendBuffer<char> bytes_;
  AppendBuffer<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_;
};

/// The values of all rows, one row after the other. A column fills only the array of its kind.
struct GrowingValues {
  AppendBuffer<std::uint32_t> terms;
  AppendBuffer<std::int64_t> integers;
  AppendBuffer<double> doubles;
  AppendBuffer<GeoPoint> points;
  Dictionary dictionary;
  std::unique_ptr<Analyzer> analyzer;  ///< made by the first text
  std::uint32_t n_texts = 0;           ///< strings so far in the current row

  [[nodiscard]] std::uint64_t size() const {
    return terms.size() + integers.size() + doubles.size() + points.size();
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return terms.memory_bytes() + integers.memory_bytes() + doubles.memory_bytes() +
           points.memory_bytes() + dictionary.memory_bytes() +
           (analyzer ? analyzer->memory_bytes() : 0);
  }
};

}  // namespace quiver::payload
