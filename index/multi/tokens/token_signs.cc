#include "index/multi/tokens/token_signs.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "index/multi/tokens/sections.h"
#include "index/multi/tokens/token_source.h"
#include "index/parallel.h"
#include "kernels/kernels.h"

namespace quiver::index::multi {
namespace {

constexpr std::uint64_t kTokensPerWrite = std::uint64_t{1} << 19;  ///< 8 MiB with 128 dimensions
constexpr std::uint32_t kSignRowsPerTask = 64;

/// Collects the highest bit of each code of a token into `[n_words]`: set where the level is not
/// negative.
void take_signs(const std::byte* codes, const CodecFacts& facts, std::uint64_t* words) {
  const std::size_t group_bytes = std::size_t{4} * facts.bits;  // bytes of 32 dimensions
  for (std::size_t group = 0; group < facts.padded_dim / 32; ++group) {
    std::uint64_t signs = 0;
    for (std::size_t j = 0; j < group_bytes; ++j) {
      const auto byte = std::to_integer<std::uint64_t>(codes[group * group_bytes + j]);
      for (std::size_t d = j, bit = facts.bits - 1; d < 32; d += group_bytes, bit += facts.bits) {
        signs |= (byte >> bit & 1) << d;
      }
    }
    words[group / 2] |= signs << (group % 2 * 32);
  }
}

/// End of the rows from `first` on whose tokens are written at once; at least one row.
std::uint32_t end_of_write(std::span<const std::uint64_t> offsets, std::uint32_t first) {
  const auto n_rows = static_cast<std::uint32_t>(offsets.size() - 1);
  std::uint32_t end = first + 1;
  while (end < n_rows && offsets[end + 1] - offsets[first] <= kTokensPerWrite) ++end;
  return end;
}

}  // namespace

Result<> TokenSigns::write(const FieldColumn& column, const TokenCodes& codes,
                           const BuildContext& context, SectionWriter& writer) {
  const TokenSource tokens(column);
  const auto offsets = tokens.offsets();
  const CodecFacts& facts = codes.codec().facts();
  const std::size_t n_words = TokenQuery::sign_words(facts.padded_dim);
  std::vector<std::uint64_t> words;
  writer.begin(kTokenSigns);
  for (std::uint32_t first = 0; first < column.n_rows;) {
    QV_TRY(context.cancel.check());
    const std::uint32_t end = end_of_write(offsets, first);
    words.assign((offsets[end] - offsets[first]) * n_words, 0);
    for_each(context, (end - first + kSignRowsPerTask - 1) / kSignRowsPerTask,
             [&](std::size_t task) {
               const auto from = static_cast<std::uint32_t>(first + task * kSignRowsPerTask);
               for (std::uint32_t row = from; row < std::min(end, from + kSignRowsPerTask); ++row) {
                 std::uint64_t* out = words.data() + (offsets[row] - offsets[first]) * n_words;
                 const std::uint64_t n = std::min(codes.n_tokens(row), tokens.n_tokens(row));
                 for (std::uint64_t token = 0; token < n; ++token, out += n_words) {
                   take_signs(codes.of_row(row) + token * codes.codec().token_bytes(), facts, out);
                 }
               }
             });
    writer.add(std::as_bytes(std::span(words)));
    first = end;
  }
  writer.end();
  return {};
}

Result<TokenSigns> TokenSigns::open(const SectionReader& reader, const FieldColumn& column,
                                    const TokenCodec& codec) {
  const auto& offsets = column.multi().offsets;
  const std::size_t n_words = TokenQuery::sign_words(codec.facts().padded_dim);
  QV_TRY(auto words, reader.get<std::uint64_t>(kTokenSigns, 0, offsets.span().back() * n_words));
  return TokenSigns(n_words, std::move(words), offsets);
}

TokenSigns::TokenSigns(std::size_t n_words, SharedSpan<std::uint64_t> words,
                       SharedSpan<std::uint64_t> offsets)
    : n_words_(n_words), words_(std::move(words)), offsets_(std::move(offsets)) {}

Result<> TokenSigns::score(const TokenQuery& query, std::span<const std::uint32_t> rows,
                           const Cancel& cancel, float* out) const {
  constexpr std::uint64_t kWordsPerPoll = 1 << 20;  // about 100 us
  const auto lengths = query.lengths();
  std::vector<std::uint32_t> least(lengths.size());
  QV_TRY(cancel.check());
  std::uint64_t n_compared = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + 1 < rows.size()) {
      prefetch_document(of_row(rows[i + 1]), n_tokens(rows[i + 1]) * token_bytes());
    }
    const std::uint64_t n = n_tokens(rows[i]);
    if (n == 0 || lengths.empty()) {
      out[i] = std::numeric_limits<float>::lowest();
      continue;
    }
    kernels().signs.least(query.signs(), lengths.size(), n_words_, of_row(rows[i]), n,
                          least.data());
    float differing = 0;
    for (std::size_t t = 0; t < least.size(); ++t) {
      differing += lengths[t] * static_cast<float>(least[t]);
    }
    out[i] = -differing;
    n_compared += n * least.size() * n_words_;
    if (n_compared < kWordsPerPoll) continue;
    QV_TRY(cancel.check());
    n_compared = 0;
  }
  return {};
}

}  // namespace quiver::index::multi
