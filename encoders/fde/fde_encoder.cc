#include "encoders/fde/fde_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "encoders/fde/buckets.h"
#include "encoders/fde/tokens.h"

namespace quiver::encoders {
namespace {

/// Sums of so many buckets stay in L1 between the steps.
constexpr std::size_t kBucketsPerChunk = 32;
/// A mean is made at most 1 / 0.05 = 20 times as long: the mean of opposed tokens has no direction.
constexpr float kMinMeanLengthRatio = 0.05f;

bool is_sketch_dim(std::uint32_t dim) {
  return dim % 16 == 0 || dim == 1 || dim == 2 || dim == 4 || dim == 8;
}

std::uint32_t block_dim_of(std::uint32_t token_dim, const FdeParams& params) {
  return params.projected_dim == 0 ? token_dim : params.projected_dim;
}

std::uint64_t full_dim_of(std::uint32_t token_dim, const FdeParams& params) {
  return (std::uint64_t{params.repetitions} << params.planes) * block_dim_of(token_dim, params);
}

std::uint32_t dim_of(std::uint32_t token_dim, const FdeParams& params) {
  return params.final_dim == 0 ? static_cast<std::uint32_t>(full_dim_of(token_dim, params))
                               : params.final_dim;
}

Result<> check(std::uint32_t token_dim, const FdeParams& params) {
  QV_TRY(validate_params(params));
  const auto refuse = [](std::string text) {
    return fail(Code::kInvalidArgument, std::move(text));
  };
  if (token_dim == 0 || token_dim > 65536) {
    return refuse(fmt::format("tokens of {} dimensions: wanted 1 to 65536", token_dim));
  }
  if (!is_sketch_dim(params.projected_dim) || params.projected_dim > token_dim) {
    return refuse(fmt::format(
        "projected_dim {}: wanted 0, 1, 2, 4, 8 or a multiple of 16, at most the {} dimensions of "
        "tokens",
        params.projected_dim, token_dim));
  }
  const std::uint64_t full_dim = full_dim_of(token_dim, params);
  if (full_dim > FdeEncoder::kMaxDim) {
    return refuse(
        fmt::format("{} repetitions of 2^{} blocks of {} dimensions are {}: wanted at "
                    "most {}",
                    params.repetitions, params.planes, block_dim_of(token_dim, params), full_dim,
                    FdeEncoder::kMaxDim));
  }
  if (params.final_dim % 16 != 0 || params.final_dim >= full_dim) {
    return refuse(
        fmt::format("final_dim {}: wanted 0 or a multiple of 16 below the {} dimensions "
                    "of all blocks",
                    params.final_dim, full_dim));
  }
  return {};
}

std::size_t lines(std::size_t n_values) { return (n_values + 15) / 16; }

}  // namespace

/// Memory of a thread, which grows to the largest set.
struct FdeEncoder::Scratch {
  fde::TokenLines tokens;
  std::vector<std::uint16_t> signs;
  std::vector<std::uint16_t> codes;
  fde::Buckets buckets;
  std::vector<float> lengths;  ///< per bucket: sum of its tokens' lengths
  // Buckets of a chunk that have tokens.
  std::size_t n = 0;
  TokenRange ranges[kBucketsPerChunk];
  std::uint32_t places[kBucketsPerChunk];  ///< positions in the chunk
  float squares[kBucketsPerChunk];
  float factors[kBucketsPerChunk];
  fde::CacheLines<float> sums;
  // All buckets of a chunk.
  fde::CacheLines<float> blocks;
};

Result<std::unique_ptr<FdeEncoder>> FdeEncoder::make(std::uint32_t token_dim,
                                                     const FdeParams& params) {
  QV_TRY(check(token_dim, params));
  return std::unique_ptr<FdeEncoder>(new FdeEncoder(token_dim, params));
}

FdeEncoder::FdeEncoder(std::uint32_t token_dim, const FdeParams& params)
    : SetEncoder(token_dim, dim_of(token_dim, params)),
      params_(params),
      n_buckets_(std::size_t{1} << params.planes),
      chunk_(std::min(n_buckets_, kBucketsPerChunk)),
      block_dim_(block_dim_of(token_dim, params)),
      planes_(token_dim, params.repetitions, params.planes, params.seed) {
  using fde::Purpose;
  for (std::uint32_t r = 0; r < params.repetitions && params.projected_dim != 0; ++r) {
    block_sketches_.emplace_back(lines(token_dim), block_dim_,
                                 fde::CounterRandom(params.seed, Purpose::kBlockSketch, r));
  }
  if (params.final_dim != 0) {
    const std::size_t n_chunks = params.repetitions * (n_buckets_ / chunk_);
    final_sketch_.emplace(n_chunks * lines(chunk_ * block_dim_), params.final_dim,
                          fde::CounterRandom(params.seed, Purpose::kFinalSketch, 0));
  }
}

void FdeEncoder::encode_documents(std::span<const TokenSet> documents, float* out) const {
  for (const TokenSet& document : documents) {
    encode(document, Side::kDocument, out);
    out += dim();
  }
}

void FdeEncoder::encode_query(const TokenSet& query, float* out) const {
  encode(query, Side::kQuery, out);
}

void FdeEncoder::encode(const TokenSet& set, Side side, float* out) const {
  thread_local Scratch scratch;
  scratch.tokens.assign(set, token_dim());
  planes_.hash(scratch.tokens, scratch.signs);
  scratch.codes.resize(scratch.tokens.n());
  if (final_sketch_) std::fill_n(out, dim(), 0.0f);
  for (std::uint32_t r = 0; r < params_.repetitions; ++r) encode_repetition(r, side, scratch, out);
}

void FdeEncoder::encode_repetition(std::uint32_t repetition, Side side, Scratch& scratch,
                                   float* out) const {
  planes_.codes(scratch.signs, repetition, scratch.codes);
  scratch.buckets.assign(scratch.codes, n_buckets_);
  if (side == Side::kDocument && params_.fill) scratch.buckets.fill();
  scratch.lengths.assign(n_buckets_, 0.0f);
  for (std::size_t i = 0; i < scratch.tokens.n(); ++i) {
    scratch.lengths[scratch.codes[i]] += scratch.tokens.lengths()[i];
  }
  const std::size_t n_values = chunk_ * block_dim_;
  for (std::size_t first = 0; first < n_buckets_; first += chunk_) {
    const std::size_t chunk = (repetition * n_buckets_ + first) / chunk_;
    sum_buckets(first, side, scratch);
    if (!final_sketch_) {
      write_blocks(repetition, scratch, out + chunk * n_values);
      continue;
    }
    const std::size_t n_lines = lines(n_values);
    scratch.blocks.resize(n_lines * 16);
    write_blocks(repetition, scratch, scratch.blocks.data());
    std::fill(scratch.blocks.data() + n_values, scratch.blocks.data() + n_lines * 16, 0.0f);
    final_sketch_->add_lines(scratch.blocks.data(), chunk * n_lines, n_lines, out);
  }
}

/// Computes the sums of buckets `[first, first + chunk_)` and their factors.
void FdeEncoder::sum_buckets(std::size_t first, Side side, Scratch& scratch) const {
  scratch.n = 0;
  for (std::uint32_t i = 0; i < chunk_; ++i) {
    scratch.ranges[scratch.n] = scratch.buckets[first + i];
    scratch.places[scratch.n] = i;
    scratch.n += scratch.ranges[scratch.n].n > 0 ? 1 : 0;
  }
  const std::size_t n_lines = scratch.tokens.n_lines();
  scratch.sums.resize(chunk_ * n_lines * 16);
  kernels().sets.pool(scratch.tokens.values(), n_lines, scratch.buckets.ids(), scratch.ranges,
                      scratch.n, scratch.sums.data(), scratch.squares);
  for (std::size_t i = 0; i < scratch.n; ++i) {
    const float length = scratch.lengths[first + scratch.places[i]];
    scratch.factors[i] =
        side == Side::kQuery ? 1.0f : mean_factor(scratch.ranges[i].n, scratch.squares[i], length);
  }
}

/// Writes the blocks of a whole chunk; those of empty buckets are zero.
void FdeEncoder::write_blocks(std::uint32_t repetition, const Scratch& scratch, float* out) const {
  std::fill_n(out, chunk_ * block_dim_, 0.0f);
  const float* sums = scratch.sums.data();
  if (!block_sketches_.empty()) {
    return block_sketches_[repetition].add_rows(sums,
                                                {scratch.places, scratch.factors, scratch.n, out});
  }
  for (std::size_t i = 0; i < scratch.n; ++i, sums += scratch.tokens.n_lines() * 16) {
    const float factor = scratch.factors[i];
    std::transform(sums, sums + block_dim_, out + scratch.places[i] * std::size_t{block_dim_},
                   [factor](float value) { return value * factor; });
  }
}

/// Factor that turns a sum of n tokens into their mean, lengthened to about the tokens' length: the
/// mean of n independent directions is only 1 / sqrt(n) as long. A token that fills an empty
/// bucket, and sums whose squares exceed f32, are not lengthened.
float FdeEncoder::mean_factor(std::uint32_t n, float square, float length) const {
  const float mean = 1.0f / static_cast<float>(n);
  if (params_.renormalize == 0) return mean;
  const float ratio = std::max(kMinMeanLengthRatio, std::min(1.0f, std::sqrt(square) / length));
  if (params_.renormalize == 1) return mean / ratio;
  return mean * std::pow(ratio, -static_cast<float>(params_.renormalize));
}

}  // namespace quiver::encoders
