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
#include "base/threads/slot_table.h"
#include "payload/filter.h"
#include "payload/text/analyzer.h"
#include "payload/text/word_numbers.h"

namespace quiver::payload {

/// Numbers texts in the order of their first appearance. One thread adds; any thread may look up in
/// a view's `SlotTable`.
class Dictionary {
 public:
  Dictionary() : table_(std::make_shared<SlotTable>(64)) { offsets_.append(0); }

  std::uint32_t find_or_add(std::string_view text) {
    const std::uint64_t hash = hash_text(text);
    const auto known = hashes_.span();
    const std::uint32_t found =
        table_->find(hash, [&](std::uint32_t id) { return known[id] == hash && term(id) == text; });
    if (found != SlotTable::kNone) return found;
    const auto id = static_cast<std::uint32_t>(hashes_.size());
    hashes_.append(hash);
    bytes_.append(std::span<const char>(text.data(), text.size()));
    offsets_.append(bytes_.size());
    if (hashes_.size() > table_->capacity()) {
      grow();
    } else {
      table_->add(hash, id);
    }
    return id;
  }
  [[nodiscard]] SharedSpan<std::uint64_t> offsets() const { return offsets_.view(); }
  [[nodiscard]] SharedSpan<char> bytes() const { return bytes_.view(); }
  [[nodiscard]] SharedSpan<std::uint64_t> hashes() const { return hashes_.view(); }
  [[nodiscard]] std::shared_ptr<const SlotTable> table() const { return table_; }
  [[nodiscard]] std::size_t memory_bytes() const {
    return offsets_.memory_bytes() + bytes_.memory_bytes() + hashes_.memory_bytes() +
           table_->memory_bytes();
  }

 private:
  [[nodiscard]] std::string_view term(std::uint32_t id) const {
    const auto offsets = offsets_.span();
    return {bytes_.span().data() + offsets[id],
            static_cast<std::size_t>(offsets[id + 1] - offsets[id])};
  }
  /// Views keep the old table, which stays as it is.
  void grow() {
    auto larger = std::make_shared<SlotTable>(table_->capacity() * 2);
    const auto hashes = hashes_.span();
    for (std::uint32_t id = 0; id < hashes.size(); ++id) larger->add(hashes[id], id);
    table_ = std::move(larger);
  }

  AppendBuffer<std::uint64_t> offsets_;
  AppendBuffer<char> bytes_;
  AppendBuffer<std::uint64_t> hashes_;
  std::shared_ptr<SlotTable> table_;
};

/// The values of all rows, one row after the other. A column fills only the array of its kind.
struct GrowingValues {
  AppendBuffer<std::uint32_t> terms;
  AppendBuffer<std::int64_t> integers;
  AppendBuffer<double> doubles;
  AppendBuffer<GeoPoint> points;
  Dictionary dictionary;
  std::unique_ptr<Analyzer> analyzer;     ///< made by the first text
  WordNumbers word_terms;                 ///< terms of frequent words, by the analyzer
  std::vector<std::uint32_t> text_terms;  ///< of the last text, to append them at once
  std::uint32_t n_texts = 0;              ///< strings so far in the current row

  [[nodiscard]] std::uint64_t size() const {
    return terms.size() + integers.size() + doubles.size() + points.size();
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return terms.memory_bytes() + integers.memory_bytes() + doubles.memory_bytes() +
           points.memory_bytes() + dictionary.memory_bytes() + word_terms.memory_bytes() +
           text_terms.capacity() * sizeof(std::uint32_t) +
           (analyzer ? analyzer->memory_bytes() : 0);
  }
};

}  // namespace quiver::payload
