#include "index/multi/tokens/token_query.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace quiver::index::multi {

void TokenQuery::set(const TokenCodec& codec, std::span<const float> tokens, float carving) {
  const CodecFacts& facts = codec.facts();
  const std::span<const float> carved = carving_.carve(tokens, facts.dim, carving);
  n_tokens_ = carved.size() / facts.dim;
  of_mean_ = 0;
  for (std::size_t i = 0; i < carved.size(); i += facts.dim) {
    for (std::uint32_t d = 0; d < facts.dim; ++d) {
      of_mean_ += double{carved[i + d]} * codec.mean()[d];
    }
  }
  round(codec, carved);
  const std::uint32_t dim = facts.padded_dim;
  prepared_.resize(MaxSimKernels::prepared_codes(n_tokens_, dim) / sizeof(Line));
  kernels().maxsim_family.prepare_codes(levels_.data(), n_tokens_, dim, dim,
                                        reinterpret_cast<std::int8_t*>(prepared_.data()));
  set_signs(dim);
}

void TokenQuery::set_signs(std::uint32_t padded_dim) {
  const std::size_t n_words = sign_words(padded_dim);
  words_.assign(n_tokens_ * n_words, 0);
  norms_.clear();
  for (std::size_t i = 0; i < n_tokens_; ++i) {
    const float* values = rotated_.data() + i * padded_dim;
    norms_.push_back(kernels().convert.norm(values, padded_dim));
    for (std::size_t d = 0; d < padded_dim; ++d) {
      words_[i * n_words + d / 64] |= std::uint64_t{values[d] >= 0} << (d % 64);
    }
  }
  const double longest = norms_.empty() ? 0 : *std::max_element(norms_.begin(), norms_.end());
  lengths_.clear();
  for (const double norm : norms_) {
    lengths_.push_back(longest > 0 ? static_cast<float>(norm / longest) : 0.0F);
  }
  sign_deviation_ = static_cast<float>(kernels().convert.norm(lengths_.data(), n_tokens_) *
                                       std::sqrt(padded_dim) / 2);
  const std::size_t n_prepared = SignKernels::prepared_words(n_tokens_, n_words);
  signs_.resize(n_prepared * sizeof(std::uint64_t) / sizeof(Line));
  kernels().signs.prepare(words_.data(), n_tokens_, n_words,
                          reinterpret_cast<std::uint64_t*>(signs_.data()));
}

void TokenQuery::round(const TokenCodec& codec, std::span<const float> tokens) {
  const CodecFacts& facts = codec.facts();
  const std::size_t padded_dim = facts.padded_dim;
  rotated_.resize(n_tokens_ * padded_dim);
  for (std::size_t i = 0; i < n_tokens_; ++i) {
    codec.rotation().apply(tokens.data() + i * facts.dim, rotated_.data() + i * padded_dim);
  }
  const float largest = kernels().grid.largest(rotated_.data(), rotated_.size());
  const float step = largest / 127.0F;
  levels_.resize(rotated_.size());
  kernels().codes.to_bytes(rotated_.data(), rotated_.size(), largest > 0 ? 127.0F / largest : 0.0F,
                           levels_.data());
  scale_ = double{step} * facts.step;
  const double length = kernels().convert.norm(rotated_.data(), rotated_.size());
  const double of_documents = length * facts.error;
  const double of_query =
      step * facts.spread * std::sqrt(static_cast<double>(rotated_.size()) / 12);
  deviation_ = static_cast<float>(std::hypot(of_documents, of_query));
}

}  // namespace quiver::index::multi
