#include "gpu/upload.h"

#include <algorithm>
#include <span>

#include "gpu/encode.h"

namespace quiver::gpu {
namespace {

/// Bytes of items that are made and copied at a time.
constexpr std::size_t kPieceBytes = 16 << 20;

qv_part_shape shape(qv_part_kind kind, std::size_t stride, std::uint32_t n_bits,
                    std::uint64_t n_items, std::uint64_t n_facts) {
  return {sizeof(qv_part_shape),
          static_cast<std::uint32_t>(kind),
          static_cast<std::uint32_t>(stride),
          n_bits,
          n_items,
          n_facts};
}

/// Items of a piece.
std::size_t items_of_piece(const Part& part) {
  return std::max<std::size_t>(1, kPieceBytes / part.shape().stride);
}

/// Documents from `first` on whose tokens make a piece; at least one.
std::size_t documents_of_piece(const Documents& documents, std::size_t first, std::size_t stride) {
  std::uint64_t n_tokens = 0;
  for (std::size_t i = first; i < documents.n(); ++i) {
    n_tokens += padded_tokens(documents.offsets[i + 1] - documents.offsets[i]);
    if (i > first && n_tokens * stride > kPieceBytes) return i - first;
  }
  return documents.n() - first;
}

/// Items that lie in memory as a device has them.
bool put_as_they_lie(Part& part, const std::byte* items) {
  const std::size_t n_piece = items_of_piece(part);
  const auto& [size, kind, stride, n_bits, n_items, n_facts] = part.shape();
  for (std::size_t first = 0; first < n_items; first += n_piece) {
    const std::size_t n = std::min<std::size_t>(n_piece, n_items - first);
    if (!part.put(first, {items + first * stride, n * stride})) return false;
  }
  return true;
}

}  // namespace

qv_part_shape shape_of(const DenseRows& rows) {
  return shape(QV_ROWS, code_stride(rows.view.dim), 0, rows.view.n_rows, rows.view.n_rows);
}

qv_part_shape shape_of(const Documents& documents) {
  std::uint64_t n_tokens = 0;
  for (std::size_t i = 0; i < documents.n(); ++i) {
    n_tokens += padded_tokens(documents.offsets[i + 1] - documents.offsets[i]);
  }
  return shape(QV_DOCUMENTS, token_stride(documents.tokens.dim), 0, n_tokens, documents.n());
}

qv_part_shape shape_of(const CodeLists& lists) {
  return shape(QV_LISTS, lists.blocks.block_bytes(), lists.blocks.n_bits, lists.blocks.n,
               lists.first_blocks.size());
}

qv_part_shape shape_of(const ByteCodes& codes) {
  return shape(QV_BYTES, codes.stride, codes.n_bits, codes.n_rows, 0);
}

qv_part_shape shape_of(const ImpactRuns& runs) {
  return shape(QV_RUNS, sizeof(std::uint16_t), 0, runs.runs.size(), runs.places.size());
}

std::uint64_t most_bytes(const DenseRows& rows) { return bytes_of(shape_of(rows)); }

std::uint64_t most_bytes(const Documents& documents) {
  const std::uint64_t n_padding = documents.n() * (QV_TOKEN_GROUP - 1);
  return bytes_of(shape(QV_DOCUMENTS, token_stride(documents.tokens.dim), 0,
                        documents.tokens.n_rows + n_padding, documents.n()));
}

std::uint64_t most_bytes(const CodeLists& lists) { return bytes_of(shape_of(lists)); }
std::uint64_t most_bytes(const ByteCodes& codes) { return bytes_of(shape_of(codes)); }
std::uint64_t most_bytes(const ImpactRuns& runs) { return bytes_of(shape_of(runs)); }

Filled fill(Part& part, const DenseRows& rows) {
  EncodedRows encoded;
  const std::size_t n_piece = items_of_piece(part);
  for (std::size_t first = 0; first < part.shape().n_items; first += n_piece) {
    const std::size_t n = std::min<std::size_t>(n_piece, part.shape().n_items - first);
    if (!encode_rows(rows.view, first, n, encoded)) return Filled::kNoCodes;
    if (!part.put(first, std::as_bytes(std::span(encoded.codes)))) return Filled::kNot;
    if (!part.put_facts(first, std::as_bytes(std::span(encoded.rows)))) return Filled::kNot;
  }
  return Filled::kDone;
}

Filled fill(Part& part, const Documents& documents) {
  EncodedDocuments encoded;
  const std::uint32_t stride = part.shape().stride;
  std::uint64_t n_tokens = 0;
  for (std::size_t first = 0; first < documents.n();) {
    const std::size_t n = documents_of_piece(documents, first, stride);
    if (!encode_documents(documents, first, n, encoded)) return Filled::kNoCodes;
    const auto group = static_cast<std::uint32_t>(n_tokens / QV_TOKEN_GROUP);
    for (qv_document& document : encoded.documents) document.first_group += group;
    const auto tokens = std::as_bytes(std::span(encoded.tokens));
    if (!part.put(n_tokens, tokens)) return Filled::kNot;
    if (!part.put_facts(first, std::as_bytes(std::span(encoded.documents)))) return Filled::kNot;
    n_tokens += tokens.size() / stride;
    first += n;
  }
  return Filled::kDone;
}

Filled fill(Part& part, const CodeLists& lists) {
  if (!part.put_facts(0, std::as_bytes(lists.first_blocks.span()))) return Filled::kNot;
  return put_as_they_lie(part, lists.blocks.first) ? Filled::kDone : Filled::kNot;
}

Filled fill(Part& part, const ByteCodes& codes) {
  return put_as_they_lie(part, codes.bytes.data()) ? Filled::kDone : Filled::kNot;
}

Filled fill(Part& part, const ImpactRuns& runs) {
  if (!part.put_facts(0, std::as_bytes(runs.places.span()))) return Filled::kNot;
  const auto* const items = reinterpret_cast<const std::byte*>(runs.runs.data());
  return put_as_they_lie(part, items) ? Filled::kDone : Filled::kNot;
}

}  // namespace quiver::gpu
