#include "payload/bm25/text_vector.h"

#include <bit>
#include <cstring>
#include <map>

namespace quiver::payload {
namespace {

std::uint32_t mix_block(std::uint32_t block) {
  return std::rotl(block * 0xCC9E2D51U, 15) * 0x1B873593U;
}

/// MurmurHash3_x86_32 (Appleby 2011) with seed 0.
std::uint32_t murmur3(std::string_view text) {
  std::uint32_t hash = 0;
  const std::size_t n_blocks = text.size() / 4;
  for (std::size_t i = 0; i < n_blocks; ++i) {
    std::uint32_t block = 0;
    std::memcpy(&block, text.data() + i * 4, sizeof(block));
    hash = std::rotl(hash ^ mix_block(block), 13) * 5 + 0xE6546B64U;
  }
  std::uint32_t tail = 0;
  for (std::size_t i = text.size(); i > n_blocks * 4; --i) {
    tail = tail << 8 | static_cast<unsigned char>(text[i - 1]);
  }
  hash ^= mix_block(tail);
  hash ^= static_cast<std::uint32_t>(text.size());
  hash = (hash ^ hash >> 16) * 0x85EBCA6BU;
  hash = (hash ^ hash >> 13) * 0xC2B2AE35U;
  return hash ^ hash >> 16;
}

}  // namespace

std::uint32_t token_index(std::string_view token) {
  const std::uint32_t hash = murmur3(token);
  return hash > 0x7FFFFFFFU ? 0U - hash : hash;
}

TextVector text_vector(const TextVectorModel& model, std::string_view text, TokenUse use) {
  return text_vector(model, {&text, 1}, use);
}

TextVector text_vector(const TextVectorModel& model, std::span<const std::string_view> texts,
                       TokenUse use) {
  std::map<std::uint32_t, std::uint32_t> counts;
  std::size_t length = 0;
  auto& analyzer = analyzer_of_thread(model.analysis);
  for (const auto text : texts) {
    analyzer.for_each_token(text, use, [&](std::string_view token) {
      ++counts[token_index(token)];
      ++length;
    });
  }
  const auto [k, b] = model.params;
  const double relative_length = static_cast<double>(length) / model.mean_length;
  TextVector vector;
  for (const auto& [index, count] : counts) {
    vector.indices.push_back(index);
    const double tf = count;
    const double weight = tf * (k + 1) / (tf + k * (1 - b + b * relative_length));
    vector.values.push_back(use == TokenUse::kQuery ? 1.0F : static_cast<float>(weight));
  }
  return vector;
}

}  // namespace quiver::payload
