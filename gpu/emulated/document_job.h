// The certified pass over all documents of tokens (docs/gpu.md), some at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/abi.h"

namespace quiver::gpu::emulated {

/// Documents of a part in memory.
struct StoredDocuments {
  std::uint32_t stride = 0;
  std::vector<std::uint16_t> tokens;
  std::vector<qv_document> documents;
};

class DocumentPass {
 public:
  DocumentPass(const qv_documents& job, const StoredDocuments& documents);

  /// Does some of the work, a few documents for all queries; true when all is done and written.
  [[nodiscard]] bool step();

 private:
  [[nodiscard]] bool may_name(std::uint32_t query, std::uint32_t document) const;
  /// The middle of the interval of the score.
  [[nodiscard]] float score(const qv_token_query& query, const std::vector<float>& document) const;
  [[nodiscard]] std::vector<float> tokens_of(const qv_document& document) const;
  void write(std::uint32_t query);

  const qv_documents job_;
  const StoredDocuments& documents_;
  std::vector<float> tokens_;                ///< of all queries
  std::vector<std::vector<float>> centers_;  ///< `[n_queries, documents so far]`
  std::uint32_t next_ = 0;                   ///< document
};

}  // namespace quiver::gpu::emulated
