#include "payload/text/stemmer.h"

#include <libstemmer.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/check.h"

namespace quiver::payload {
namespace {

constexpr std::size_t kFirstSlots = 256;
constexpr std::size_t kMaxSlots = 64 << 10;
constexpr std::size_t kGrowth = 4;

}  // namespace

Stemmer::Stemmer(StemmerLanguage language) {
  const std::string name(kStemmerLanguages[static_cast<std::size_t>(language)]);
  stemmer_.reset(sb_stemmer_new(name.c_str(), "UTF_8"));
  QV_CHECK(stemmer_ != nullptr);
}

void Stemmer::Delete::operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }

std::string_view Stemmer::stem(std::string_view word) {
  if (word.size() > kMaxStemmedBytes) return word;
  const auto* bytes = reinterpret_cast<const sb_symbol*>(word.data());
  const sb_symbol* stem = sb_stemmer_stem(stemmer_.get(), bytes, static_cast<int>(word.size()));
  if (stem == nullptr) return word;
  return {reinterpret_cast<const char*>(stem),
          static_cast<std::size_t>(sb_stemmer_length(stemmer_.get()))};
}

std::string_view WordCache::find(std::string_view word, std::uint64_t hash) const {
  if (slots_.empty() || word.empty()) return {};
  const Slot& slot = slots_[hash & (slots_.size() - 1)];
  if (slot.word_bytes != word.size()) return {};
  if (std::memcmp(slot.bytes.data(), word.data(), word.size()) != 0) return {};
  return {slot.bytes.data() + slot.word_bytes, slot.form_bytes};
}

void WordCache::remember(std::string_view word, std::uint64_t hash, std::string_view form) {
  if (word.empty() || word.size() + form.size() > sizeof(Slot::bytes)) return;
  if (++n_remembered_ > slots_.size() && slots_.size() < kMaxSlots) {
    slots_.assign(std::max(kFirstSlots, slots_.size() * kGrowth), Slot{});
    n_remembered_ = 0;
  }
  Slot& slot = slots_[hash & (slots_.size() - 1)];
  slot.word_bytes = static_cast<std::uint8_t>(word.size());
  slot.form_bytes = static_cast<std::uint8_t>(form.size());
  std::memcpy(slot.bytes.data(), word.data(), word.size());
  if (!form.empty()) std::memcpy(slot.bytes.data() + word.size(), form.data(), form.size());
}

}  // namespace quiver::payload
