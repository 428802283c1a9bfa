#include "gpu/emulated/document_job.h"

#include <algorithm>
#include <limits>

#include "gpu/emulated/select.h"
#include "gpu/tiles/margin.h"
#include "kernels/kernels.h"

namespace quiver::gpu::emulated {
namespace {

constexpr std::uint32_t kDocumentsOfAStep = 64;

std::vector<float> as_floats(const std::uint16_t* halves, std::size_t n) {
  std::vector<float> values(n);
  kernels().convert.f16_to_f32(halves, n, values.data());
  return values;
}

}  // namespace

DocumentPass::DocumentPass(const qv_documents& job, const StoredDocuments& documents)
    : job_(job), documents_(documents), centers_(job.n_queries) {
  const qv_token_query& last = job.queries[job.n_queries - 1];
  const std::size_t n_tokens = std::size_t{last.first_group + last.n_groups} * QV_TOKEN_GROUP;
  tokens_ = as_floats(job.tokens, n_tokens * documents.stride / 2);
}

bool DocumentPass::may_name(std::uint32_t query, std::uint32_t document) const {
  return documents_.documents[document].n_groups != 0 &&
         allows(job_.masks, job_.queries[query].mask, documents_.documents.size(), document);
}

std::vector<float> DocumentPass::tokens_of(const qv_document& document) const {
  const std::size_t of_group = std::size_t{QV_TOKEN_GROUP} * documents_.stride / 2;
  return as_floats(documents_.tokens.data() + document.first_group * of_group,
                   document.n_groups * of_group);
}

float DocumentPass::score(const qv_token_query& query, const std::vector<float>& document) const {
  const std::size_t n_values = documents_.stride / 2;
  const std::size_t first = std::size_t{query.first_group} * QV_TOKEN_GROUP;
  float sum = 0;
  for (std::size_t q = first; q < first + query.n_groups * QV_TOKEN_GROUP; ++q) {
    const float* const token = tokens_.data() + q * n_values;
    float best = kNone;
    for (std::size_t at = 0; at < document.size(); at += n_values) {
      float product = 0;
      for (std::size_t i = 0; i < n_values; ++i) product += token[i] * document[at + i];
      best = std::max(best, product);
    }
    sum += best;
  }
  return sum;
}

bool DocumentPass::step() {
  const auto n = static_cast<std::uint32_t>(documents_.documents.size());
  if (next_ == n) {
    for (std::uint32_t q = 0; q < job_.n_queries; ++q) write(q);
    return true;
  }
  const std::uint32_t end = std::min(next_ + kDocumentsOfAStep, n);
  for (; next_ < end; ++next_) {
    const auto tokens = tokens_of(documents_.documents[next_]);
    for (std::uint32_t q = 0; q < job_.n_queries; ++q) {
      centers_[q].push_back(may_name(q, next_) ? score(job_.queries[q], tokens) : kNone);
    }
  }
  return false;
}

void DocumentPass::write(std::uint32_t q) {
  const auto margin = [&](std::uint32_t document) {
    return tiles::document_margin(documents_.documents[document], job_.queries[q], job_.rounding);
  };
  std::vector<float> lowers;
  for (std::uint32_t i = 0; i < centers_[q].size(); ++i) {
    lowers.push_back(centers_[q][i] - margin(i));
  }
  const float bar = kth_largest(lowers, job_.queries[q].k);
  std::uint32_t* const out = job_.documents + std::uint64_t{q} * job_.capacity;
  job_.n_documents[q] = QV_NOT_CERTIFIED;
  std::uint32_t n = 0;
  for (std::uint32_t i = 0; i < centers_[q].size(); ++i) {
    if (!may_name(q, i) || !tiles::may_reach(centers_[q][i] + margin(i), bar)) continue;
    if (n == job_.capacity) return;
    out[n++] = i;
  }
  job_.n_documents[q] = n;
}

}  // namespace quiver::gpu::emulated
