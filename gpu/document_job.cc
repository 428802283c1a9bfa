#include "gpu/document_job.h"

#include <algorithm>

#include "gpu/encode.h"
#include "gpu/tiles/margin.h"

namespace quiver::gpu {
namespace {

struct DocumentPlaces {
  std::uint16_t* tokens;
  qv_token_query* queries;
  std::uint64_t* masks;
  std::uint32_t* documents;
  std::uint32_t* n_documents;
};

DocumentPlaces document_places(Pieces& pieces, const Part& part, std::uint64_t n_tokens,
                               std::uint64_t n, std::uint64_t n_words, std::uint64_t capacity) {
  return {pieces.take<std::uint16_t>(n_tokens * part.shape().stride / 2),
          pieces.take<qv_token_query>(n), pieces.take<std::uint64_t>(n_words),
          pieces.take<std::uint32_t>(n * capacity), pieces.take<std::uint32_t>(n)};
}

/// Multiplications of one job: a third of a second of a device that reaches half of an A10's rate.
constexpr double kMaxProducts = 1e13;
/// Values of all queries of a job. A block compares its 32 documents, of `kMostTokens` each at
/// most, with all of them: 1e12 products for one multiprocessor.
constexpr std::uint64_t kMaxValues = 4'000'000;

/// Of a query, tokens times dimensions; with tokens that are padding.
std::uint64_t values_of(const Documents& documents, const DocumentQuery& query) {
  const std::uint32_t dim = documents.tokens.dim;
  return padded_tokens(query.tokens.size() / dim) * dim;
}

/// At most, with those that are padding.
std::uint64_t tokens_of(const Documents& documents) {
  return documents.tokens.n_rows + documents.n() * (QV_TOKEN_GROUP - 1);
}

double n_products(std::uint64_t n_document_tokens, std::uint64_t n_query_values) {
  return static_cast<double>(n_document_tokens) * static_cast<double>(n_query_values);
}

}  // namespace

std::size_t DocumentJob::n_together(const Documents& documents,
                                    std::span<const DocumentQuery> queries,
                                    std::span<const std::size_t> numbers) {
  constexpr std::uint64_t kMaxScores = 16 << 20;
  constexpr std::uint64_t kMaxFound = 4 << 20;
  constexpr std::uint64_t kMaxTogether = 64;
  std::uint64_t most_values = 1;
  std::uint64_t most_wanted = 0;
  for (const std::size_t i : numbers) {
    most_values = std::max(most_values, values_of(documents, queries[i]));
    most_wanted = std::max(most_wanted, queries[i].k);
  }
  const double products = std::max(1.0, n_products(tokens_of(documents), most_values));
  return std::clamp<std::uint64_t>(
      std::min({static_cast<std::uint64_t>(kMaxProducts / products), kMaxValues / most_values,
                kMaxScores / std::max<std::size_t>(1, documents.n()),
                kMaxFound / tiles::room(static_cast<unsigned>(most_wanted))}),
      1, kMaxTogether);
}

bool DocumentJob::is_too_large(const Documents& documents, const DocumentQuery& query) {
  return is_too_large(tokens_of(documents), values_of(documents, query));
}

bool DocumentJob::is_too_large(std::uint64_t n_document_tokens, std::uint64_t n_query_values) {
  return n_query_values > kMaxValues ||
         n_products(n_document_tokens, n_query_values) > kMaxProducts;
}

void DocumentJob::write_queries(std::uint32_t stride, std::span<const std::uint32_t> masks,
                                std::uint16_t* tokens, qv_token_query* queries) {
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const DocumentQuery& query = queries_[numbers_[i]];
    qv_token_query& written = queries[written_.size()];
    std::uint16_t* const first = tokens + std::size_t{group} * QV_TOKEN_GROUP * stride / 2;
    if (!encode_tokens(query.tokens, documents_.tokens.dim, first, written)) continue;
    written.first_group = group;
    written.k = static_cast<std::uint32_t>(query.k);
    written.mask = masks[i];
    group += written.n_groups;
    most_tokens_ = std::max(most_tokens_, written.n_groups * QV_TOKEN_GROUP);
    written_.push_back(numbers_[i]);
  }
}

bool DocumentJob::write(Lane& lane, const Part& part) {
  const std::uint32_t dim = documents_.tokens.dim;
  std::uint64_t most = 0;
  std::uint64_t n_tokens = 0;
  const JobMasks masks(queries_, numbers_, part.shape().n_facts);
  for (const std::size_t i : numbers_) {
    most = std::max(most, queries_[i].k);
    n_tokens += padded_tokens(queries_[i].tokens.size() / dim);
  }
  const std::uint64_t capacity = capacity_of(most);
  Pieces size(nullptr);
  document_places(size, part, n_tokens, numbers_.size(), masks.n_words(), capacity);
  std::byte* const memory = lane.memory(size.used());
  if (memory == nullptr) return false;
  Pieces pieces(memory);
  const DocumentPlaces at =
      document_places(pieces, part, n_tokens, numbers_.size(), masks.n_words(), capacity);
  write_queries(part.shape().stride, masks.of_queries(), at.tokens, at.queries);
  job_ = {.size = sizeof job_,
          .n_queries = static_cast<std::uint32_t>(written_.size()),
          .part = part.handle(),
          .tokens = at.tokens,
          .queries = at.queries,
          .masks = masks.write(at.masks),
          .rounding = token_rounding(dim, most_tokens_),
          .capacity = static_cast<std::uint32_t>(capacity),
          .documents = at.documents,
          .n_documents = at.n_documents};
  return true;
}

}  // namespace quiver::gpu
