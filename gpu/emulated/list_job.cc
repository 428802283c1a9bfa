#include "gpu/emulated/list_job.h"

#include <cstring>

#include "gpu/emulated/select.h"

namespace quiver::gpu::emulated {
namespace {

/// Bytes of a block's factors: 16 scales, 16 addends.
constexpr std::uint32_t kFactorBytes = 128;
constexpr std::uint32_t kLineBytes = 64;

std::uint32_t lines_of(const StoredLists& lists) {
  return (lists.stride - kFactorBytes) / kLineBytes / lists.n_bits;
}

float factor(const std::byte* factors, std::uint32_t i) {
  float value = 0;
  std::memcpy(&value, factors + i * sizeof value, sizeof value);
  return value;
}

}  // namespace

std::uint32_t ListPass::sum_of(const std::uint8_t* tables, std::uint32_t block,
                               std::uint32_t row) const {
  const std::uint32_t n_lines = lines_of(lists_);
  const std::byte* at = lists_.blocks.data() + std::uint64_t{block} * lists_.stride + row * 4;
  std::uint32_t sum = 0;
  for (std::uint32_t bit = 0; bit < lists_.n_bits; ++bit) {
    sum *= 2;
    for (std::uint32_t line = 0; line < n_lines; ++line, at += kLineBytes) {
      const std::uint8_t* const of_line = tables + line * 128;
      for (std::uint32_t y = 0; y < 4; ++y) {
        const auto byte = std::to_integer<std::uint32_t>(at[y]);
        sum += of_line[y * 16 + byte % 16] + std::uint32_t{of_line[64 + y * 16 + byte / 16]};
      }
    }
  }
  return sum;
}

float ListPass::estimate(const qv_visit& visit, std::uint32_t block, std::uint32_t row) const {
  const std::uint64_t table_bytes = std::uint64_t{128} * lines_of(lists_);
  const qv_list_query& query = job_.queries[visit.query];
  const auto sum = static_cast<float>(sum_of(job_.tables + visit.query * table_bytes, block, row));
  const std::byte* const factors =
      lists_.blocks.data() + std::uint64_t{block + 1} * lists_.stride - kFactorBytes;
  const float product = sum * query.step + query.offset;
  return product * factor(factors, row) + (factor(factors, 16 + row) + visit.base);
}

bool ListPass::step() {
  if (next_ == job_.n_queries) return true;
  std::vector<float> scores(job_.queries[next_].n_slots, kNone);
  std::vector<std::uint32_t> positions(scores.size());
  for (std::uint32_t i = 0; i < job_.n_visits; ++i) {
    const qv_visit& visit = job_.visits[i];
    if (visit.query != next_) continue;
    std::uint32_t slot = visit.first_slot - job_.queries[next_].first_slot;
    const std::uint32_t end = lists_.first_blocks[visit.list + 1];
    for (std::uint32_t block = lists_.first_blocks[visit.list]; block < end; ++block) {
      for (std::uint32_t row = 0; row < 16; ++row, ++slot) {
        const float score = estimate(visit, block, row);
        if (score > kNone) scores[slot] = score;
        positions[slot] = block * 16 + row;
      }
    }
  }
  write(next_, scores, positions);
  return ++next_ == job_.n_queries;
}

void ListPass::write(std::uint32_t query, const std::vector<float>& scores,
                     const std::vector<std::uint32_t>& positions) const {
  auto sorted = scores;
  const float bar = kth_largest(sorted, job_.queries[query].k);
  const std::uint64_t first = std::uint64_t{query} * job_.capacity;
  std::uint32_t n = 0;
  job_.n_positions[query] = QV_NOT_CERTIFIED;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == kNone || scores[i] < bar) continue;
    if (n == job_.capacity) return;
    job_.scores[first + n] = scores[i];
    job_.positions[first + n++] = positions[i];
  }
  job_.n_positions[query] = n;
}

}  // namespace quiver::gpu::emulated
