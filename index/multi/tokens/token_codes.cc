#include "index/multi/tokens/token_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/prefetch.h"
#include "index/multi/tokens/sections.h"
#include "index/parallel.h"

namespace quiver::index::multi {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kCodeBytesPerWrite = std::size_t{8} << 20;
constexpr std::uint64_t kTokensPerTask = 1024;

std::size_t whole_lines(std::size_t n_bytes) {
  return (n_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

std::vector<TokenPlace> places_of(const TokenSource& tokens, std::size_t token_bytes) {
  const auto offsets = tokens.offsets();
  std::vector<TokenPlace> places(offsets.size() - 1);
  std::uint64_t end = 0;
  for (std::size_t row = 0; row < places.size(); ++row) {
    places[row] = {end, offsets[row + 1] - offsets[row]};
    end += whole_lines(places[row].n_tokens * token_bytes);
  }
  return places;
}

/// Codes documents some at a time, into given places.
class TokenEncoding {
 public:
  TokenEncoding(const TokenSource& tokens, const TokenCodec& codec,
                const std::vector<TokenPlace>& places, const BuildContext& context)
      : tokens_(tokens), codec_(codec), places_(places), context_(context) {}

  Result<> write(SectionWriter& writer) {
    const auto n_rows = static_cast<std::uint32_t>(places_.size());
    for (std::uint32_t first = 0; first < n_rows;) {
      QV_TRY(context_.cancel.check());
      const std::uint32_t end = end_of_some(first);
      encode(first, end);
      writer.add(some_);
      first = end;
      if (context_.progress) context_.progress(end);
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t end_of_row(std::uint32_t row) const {
    return places_[row].offset + whole_lines(places_[row].n_tokens * codec_.token_bytes());
  }
  /// End of the rows from `first` on that fit in kCodeBytesPerWrite; at least one row.
  [[nodiscard]] std::uint32_t end_of_some(std::uint32_t first) const {
    std::uint32_t end = first + 1;
    while (end < places_.size() && end_of_row(end) - places_[first].offset <= kCodeBytesPerWrite)
      ++end;
    return end;
  }
  void encode(std::uint32_t first, std::uint32_t end) {
    some_.assign(end_of_row(end - 1) - places_[first].offset, std::byte{0});
    const std::uint64_t begin = tokens_.offsets()[first];
    const std::uint64_t n = tokens_.offsets()[end] - begin;
    const std::size_t n_tasks = (n + kTokensPerTask - 1) / kTokensPerTask;
    for_each(context_, n_tasks, [&](std::size_t task) {
      const std::uint64_t from = begin + task * kTokensPerTask;
      encode_tokens(from, std::min(begin + n, from + kTokensPerTask), places_[first].offset);
    });
  }
  /// Codes tokens `[from, end)` of the column; `some_` starts at byte `base` of all codes.
  void encode_tokens(std::uint64_t from, std::uint64_t end, std::uint64_t base) {
    const auto offsets = tokens_.offsets();
    const auto after = std::upper_bound(offsets.begin(), offsets.end(), from);
    auto row = static_cast<std::size_t>(after - offsets.begin()) - 1;
    TokenEncoder encoder(codec_);
    std::vector<float> token(tokens_.dim());
    for (std::uint64_t t = from; t < end; ++t) {
      while (t >= offsets[row + 1]) ++row;
      tokens_.read(t, token.data());
      const std::uint64_t at =
          places_[row].offset - base + (t - offsets[row]) * codec_.token_bytes();
      encoder.encode(token.data(), some_.data() + at);
    }
  }

  const TokenSource& tokens_;
  const TokenCodec& codec_;
  const std::vector<TokenPlace>& places_;
  const BuildContext& context_;
  std::vector<std::byte> some_;
};

/// Checks that places are those of the column's rows.
Result<> check_places(const SectionReader& reader, std::span<const TokenPlace> places,
                      std::size_t n_bytes, const TokenSource& tokens, std::size_t token_bytes) {
  const auto wanted = places_of(tokens, token_bytes);
  std::uint64_t end = 0;
  for (std::size_t row = 0; row < wanted.size(); ++row) {
    if (places[row].offset != wanted[row].offset || places[row].n_tokens != wanted[row].n_tokens) {
      return reader.damaged(fmt::format("row {}: {} tokens at {}, expected {} at {}", row,
                                        places[row].n_tokens, places[row].offset,
                                        wanted[row].n_tokens, wanted[row].offset));
    }
    end = wanted[row].offset + whole_lines(wanted[row].n_tokens * token_bytes);
  }
  if (end != n_bytes) {
    return reader.damaged(fmt::format("{} bytes of token codes, expected {}", n_bytes, end));
  }
  return {};
}

}  // namespace

Result<> TokenCodes::write(const FieldColumn& column, std::uint32_t bits,
                           const BuildContext& context, SectionWriter& writer) {
  const TokenSource tokens(column);
  const TokenCodec codec = TokenCodec::fit(tokens, bits, context.seed);
  const auto places = places_of(tokens, codec.token_bytes());
  codec.write(writer);
  writer.begin(kTokenCodes);
  QV_TRY(TokenEncoding(tokens, codec, places, context).write(writer));
  writer.end();
  writer.section(kTokenPlaces, std::span<const TokenPlace>(places));
  return {};
}

Result<TokenCodes> TokenCodes::open(const SectionReader& reader, const FieldColumn& column) {
  if (reader.n_rows() != column.n_rows) {
    return reader.damaged(fmt::format("{} rows, expected {}", reader.n_rows(), column.n_rows));
  }
  const TokenSource tokens(column);
  QV_TRY(auto codec, TokenCodec::open(reader, tokens.dim()));
  QV_TRY(auto codes, reader.get<std::byte>(kTokenCodes));
  QV_TRY(auto places, reader.get<TokenPlace>(kTokenPlaces, 0, column.n_rows));
  QV_TRY(check_places(reader, places.span(), codes.size(), tokens, codec.token_bytes()));
  return TokenCodes(std::move(codec), std::move(codes), std::move(places));
}

TokenCodes::TokenCodes(TokenCodec codec, SharedBytes codes, SharedSpan<TokenPlace> places)
    : codec_(std::move(codec)), codes_(std::move(codes)), places_(std::move(places)) {
  const MaxSimKernels& k = kernels().maxsim_family;
  const std::uint32_t bits = codec_.facts().bits;
  scorer_ = bits == 8 ? k.score_codes : bits == 4 ? k.score_codes_4bit : k.score_codes_2bit;
}

float TokenCodes::score_row(const TokenQuery& query, std::uint32_t row) const {
  const TokenPlace found = place(row);
  if (found.n_tokens == 0 || query.n_tokens() == 0) return std::numeric_limits<float>::quiet_NaN();
  return query.score_of(scorer_(query.prepared(), query.n_tokens(), codec_.facts().padded_dim,
                                codes_.data() + found.offset, codec_.token_bytes(),
                                found.n_tokens));
}

/// Prefetches the first tile; the kernel prefetches the rest. Chosen among 0, 1, 2, 4 KB and all:
/// more lines than a core loads at once hold up the document being scored. With 10 KB, 1.2 us in
/// cache, all cost 1.3 times as much as 1 KB, nothing 1.1 times.
void prefetch_document(const void* at, std::size_t n_bytes) {
  constexpr std::size_t kBytes = 1024;
  prefetch_bytes(at, std::min(kBytes, n_bytes));
}

void TokenCodes::prefetch(std::uint32_t row) const {
  const TokenPlace found = place(row);
  prefetch_document(codes_.data() + found.offset, found.n_tokens * codec_.token_bytes());
}

Result<> TokenCodes::score(const TokenQuery& query, std::span<const std::uint32_t> rows,
                           const Cancel& cancel, float* out) const {
  constexpr std::uint64_t kProductsPerPoll = 1 << 23;  // about 40 us
  QV_TRY(cancel.check());
  std::uint64_t n_products = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + 1 < rows.size()) prefetch(rows[i + 1]);
    out[i] = score_row(query, rows[i]);
    n_products += query.n_tokens() * n_tokens(rows[i]) * codec_.facts().padded_dim;
    if (n_products < kProductsPerPoll) continue;
    QV_TRY(cancel.check());
    n_products = 0;
  }
  return {};
}

}  // namespace quiver::index::multi
