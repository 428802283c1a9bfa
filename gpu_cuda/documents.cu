// A warp takes a document at a time and keeps the best product of each query token. The query tokens of a block are in
// shared memory; tokens of documents go from device memory to registers, 16 bytes of a token a lane. The order of the
// values in a product is free, if it is the same on both sides: so each lane takes what lies together.
#include "gpu_cuda/documents.cuh"

#include <cstdint>

#include "gpu/tiles/margin.h"
#include "gpu_cuda/documents_plan.cuh"

namespace quiver::gpu_cuda {
namespace {

using namespace quiver::gpu;

constexpr uint32_t kDocumentWarps = 4;
constexpr uint32_t kDocumentThreads = 32 * kDocumentWarps;
/// Of a block, so that its copies of query tokens are a small part of what it reads.
constexpr uint32_t kDocumentsOfBlock = 32;
/// Bytes of a token that the lanes of a row hold at a time: two products of 16 values.
constexpr uint32_t kChunk = 64;
/// Groups of a document that a warp compares at a time, two for each product.
constexpr uint32_t kStepGroups = 4;
constexpr uint32_t kNameThreads = 256;
/// Blocks at a time on a multiprocessor: as many as the registers of a thread allow.
constexpr uint32_t blocks_together(uint32_t n_groups) { return n_groups == 8 ? 3 : 4; }

/// By some query.
__device__ bool may_be_named(const DocumentMemory& memory, uint64_t document) {
  return memory.documents[document].n_groups != 0 && any_allows(memory.masks, document);
}

__device__ bool may_name(const DocumentMemory& memory, uint32_t query, uint64_t document) {
  return memory.documents[document].n_groups != 0 && allows(memory.masks, memory.queries[query].mask, document);
}

__device__ void copy_query_tokens(const DocumentShape& shape, const DocumentMemory& memory, uint32_t tile, char* to) {
  const uint32_t n_tokens = shape.tile_groups * QV_TOKEN_GROUP;
  const uint32_t n_pieces = shape.stride / 16;
  const int8_t* from = memory.query_tokens + uint64_t{tile} * n_tokens * shape.stride;
  for (uint32_t i = threadIdx.x; i < n_tokens * n_pieces; i += kDocumentThreads) {
    const uint32_t token = i / n_pieces;
    const uint32_t byte = i % n_pieces * 16;
    uint32_t words[4];
    load_16(words, from + uint64_t{token} * shape.stride + byte);
    store_16(to + token * token_pitch(shape.stride) + byte, words);
  }
}

/// Adds the products of a chunk of four groups of document tokens and the query tokens.
template <uint32_t kGroups>
__device__ void multiply_chunk(const uint32_t (&rows)[kStepGroups][4], const char* queries, uint32_t pitch,
                               float (&sums)[kStepGroups / 2][kGroups][4]) {
#pragma unroll
  for (uint32_t group = 0; group < kGroups; ++group) {
    uint32_t query[4];
    load_16(query, queries + group * QV_TOKEN_GROUP * pitch);
#pragma unroll
    for (uint32_t half = 0; half < kStepGroups / 2; ++half) {
      const uint32_t(&upper)[4] = rows[2 * half];
      const uint32_t(&lower)[4] = rows[2 * half + 1];
#pragma unroll
      for (uint32_t i = 0; i < 4; i += 2) {
        const uint32_t a[4] = {upper[i], lower[i], upper[i + 1], lower[i + 1]};
        const uint32_t b[2] = {query[i], query[i + 1]};
        multiply_halves(sums[half][group], a, b);
      }
    }
  }
}

/// Of each query token the lane has sums of (two a group), the best product with a token of the document.
template <uint32_t kGroups>
__device__ void best_products(const DocumentShape& shape, const DocumentMemory& memory, const qv_document& document,
                              const char* queries, float (&best)[kGroups][2]) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t n_chunks = shape.stride / kChunk;
  const uint32_t pitch = token_pitch(shape.stride);
  const uint64_t group_bytes = uint64_t{QV_TOKEN_GROUP} * shape.stride;
  const uint32_t at = lane / 4 * shape.stride + lane % 4 * 16;
  const char* own_queries = queries + lane / 4 * pitch + lane % 4 * 16;
  const int8_t* first = memory.tokens + document.first_group * group_bytes + at;
#pragma unroll
  for (uint32_t group = 0; group < kGroups; ++group) best[group][0] = best[group][1] = kNone;
  for (uint32_t step = 0; step < document.n_groups; step += kStepGroups) {
    const int8_t* rows[kStepGroups];
    uint32_t next[kStepGroups][4];
#pragma unroll
    for (uint32_t i = 0; i < kStepGroups; ++i) {
      const uint32_t last = document.n_groups - 1;  // again, beyond the end: that changes no maximum
      rows[i] = first + (step + i < last ? step + i : last) * group_bytes;
      load_16(next[i], rows[i]);
    }
    float sums[kStepGroups / 2][kGroups][4] = {};
#pragma unroll 1
    for (uint32_t chunk = 0; chunk < n_chunks; ++chunk) {
      uint32_t now[kStepGroups][4];
#pragma unroll
      for (uint32_t i = 0; i < kStepGroups; ++i) {
#pragma unroll
        for (uint32_t word = 0; word < 4; ++word) now[i][word] = next[i][word];
        if (chunk + 1 < n_chunks) load_16(next[i], rows[i] + (chunk + 1) * kChunk);
      }
      multiply_chunk<kGroups>(now, own_queries + chunk * kChunk, pitch, sums);
    }
#pragma unroll
    for (uint32_t group = 0; group < kGroups; ++group) {
#pragma unroll
      for (uint32_t half = 0; half < kStepGroups / 2; ++half) {
        const float(&of)[4] = sums[half][group];
        best[group][0] = fmaxf(best[group][0], fmaxf(of[0], of[2]));
        best[group][1] = fmaxf(best[group][1], fmaxf(of[1], of[3]));
      }
    }
  }
}

/// The sum over the tokens of a group; all lanes get it.
__device__ float sum_of_group(float (&best)[2]) {
  float sum = 0;
#pragma unroll
  for (float& token : best) {
    for (uint32_t step = 4; step < 32; step *= 2) token = fmaxf(token, __shfl_xor_sync(~0U, token, step));
    sum += token;
  }
  for (uint32_t step = 1; step < 4; step *= 2) sum += __shfl_xor_sync(~0U, sum, step);
  return sum;
}

/// Adds what a tile says about a document to the scores of its queries. Tokens that are padding are zero, and add
/// nothing. The lane that writes a score is always the same.
template <uint32_t kGroups>
__device__ void add_scores(const DocumentShape& shape, const DocumentMemory& memory, uint32_t tile, uint64_t document,
                           float (&best)[kGroups][2]) {
  float sum = 0;
  bool is_begun = false;  // by an earlier tile
#pragma unroll
  for (uint32_t i = 0; i < kGroups; ++i) {
    sum += sum_of_group(best[i]);
    const uint32_t group = tile * kGroups + i;
    if (group >= shape.n_groups) continue;
    const uint32_t query = memory.query_of[group];
    const qv_token_query& facts = memory.queries[query];
    if (i == 0) is_begun = group != facts.first_group;
    const bool is_last = i + 1 == kGroups || group + 1 == facts.first_group + facts.n_groups;
    if (!is_last) continue;
    float& score = memory.scores[uint64_t{query} * shape.n_documents + document];
    if (threadIdx.x % 32 == 0) score = is_begun ? score + sum : sum;
    sum = 0;
    is_begun = false;
  }
}

template <uint32_t kGroups>
__global__ void __launch_bounds__(kDocumentThreads, blocks_together(kGroups))
    score_documents(DocumentShape shape, DocumentMemory memory) {
  char* const queries = shared_memory();
  const uint32_t n_tiles = (shape.n_groups + kGroups - 1) / kGroups;
  const uint64_t first = uint64_t{blockIdx.x} * kDocumentsOfBlock;
  const uint64_t end =
      first + kDocumentsOfBlock < shape.n_documents ? first + kDocumentsOfBlock : shape.n_documents;
  for (uint32_t tile = 0; tile < n_tiles; ++tile) {
    __syncthreads();
    copy_query_tokens(shape, memory, tile, queries);
    __syncthreads();
    for (uint64_t document = first + threadIdx.x / 32; document < end; document += kDocumentWarps) {
      if (!may_be_named(memory, document)) continue;
      float best[kGroups][2];
      best_products<kGroups>(shape, memory, memory.documents[document], queries, best);
      add_scores<kGroups>(shape, memory, tile, document, best);
    }
  }
}

__global__ void start_document_searches(DocumentShape shape, DocumentMemory memory) {
  const uint32_t query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query >= shape.n_queries) return;
  const qv_token_query facts = memory.queries[query];
  memory.searches[query] = {kNone, 0};
  for (uint32_t i = 0; i < facts.n_groups; ++i) memory.query_of[facts.first_group + i] = query;
}

__device__ float margin_of(const DocumentShape& shape, const DocumentMemory& memory, uint32_t query, uint64_t document) {
  return tiles::document_margin(memory.documents[document], memory.queries[query], shape.rounding);
}

/// A warp takes a slab.
__global__ void keep_slabs_of_documents(DocumentShape shape, DocumentMemory memory) {
  const uint64_t document = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const uint32_t query = blockIdx.y;
  float best = kNone;
  if (document < shape.n_documents && may_name(memory, query, document)) {
    best = or_none(memory.scores[uint64_t{query} * shape.n_documents + document] -
                   margin_of(shape, memory, query, document));
  }
  for (uint32_t step = 1; step < 32; step *= 2) best = fmaxf(best, __shfl_xor_sync(~0U, best, step));
  if (threadIdx.x % 32 == 0 && document < shape.n_documents) {
    memory.slabs[uint64_t{query} * shape.n_slabs + document / kSlabDocuments] = best;
  }
}

/// The k-th best slab has a lower end that k documents reach.
__global__ void set_document_bars(DocumentShape shape, DocumentMemory memory) {
  const uint32_t query = blockIdx.x;
  const float* slabs = memory.slabs + uint64_t{query} * shape.n_slabs;
  const float bar = kth_largest(shape.n_slabs, memory.queries[query].k, [slabs](uint32_t i) { return slabs[i]; });
  if (threadIdx.x == 0) memory.searches[query].bar = bar;
}

__global__ void find_documents(DocumentShape shape, DocumentMemory memory) {
  const uint64_t document = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const uint32_t query = blockIdx.y;
  if (document >= shape.n_documents || !may_name(memory, query, document)) return;
  DocumentSearch& search = memory.searches[query];
  const float center = memory.scores[uint64_t{query} * shape.n_documents + document];
  if (!tiles::may_reach(center + margin_of(shape, memory, query, document), search.bar)) return;
  const uint32_t place = atomicAdd(&search.n_found, 1U);
  if (place >= shape.room) return;
  memory.found[uint64_t{query} * shape.room + place] = {static_cast<uint32_t>(document), center};
}

/// Names those that reach the k-th best lower end of all that were found.
__global__ void name_documents(DocumentShape shape, DocumentMemory memory) {
  const uint32_t query = blockIdx.x;
  const DocumentSearch search = memory.searches[query];
  const Found* found = memory.found + uint64_t{query} * shape.room;
  const uint32_t n = min(search.n_found, shape.room);
  const float by_found = kth_largest(n, memory.queries[query].k, [&](uint32_t i) {
    return or_none(found[i].center - margin_of(shape, memory, query, found[i].row));
  });
  const float bar = fmaxf(search.bar, by_found);
  __shared__ uint32_t n_out;
  __syncthreads();
  if (threadIdx.x == 0) n_out = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
    if (!tiles::may_reach(found[i].center + margin_of(shape, memory, query, found[i].row), bar)) continue;
    const uint32_t place = atomicAdd(&n_out, 1U);
    if (place < shape.capacity) memory.out_documents[uint64_t{query} * shape.capacity + place] = found[i].row;
  }
  __syncthreads();
  const bool is_certain = search.n_found <= shape.room && n_out <= shape.capacity;
  if (threadIdx.x == 0) memory.out_n[query] = is_certain ? n_out : QV_NOT_CERTIFIED;
}

template <uint32_t kGroups>
qv_status launch_scores(const DocumentShape& shape, const DocumentMemory& memory, cudaStream_t stream) {
  const auto n_blocks = static_cast<uint32_t>((shape.n_documents + kDocumentsOfBlock - 1) / kDocumentsOfBlock);
  return launch_with_shared(score_documents<kGroups>, n_blocks, kDocumentThreads,
                            shared_of_tile(shape.stride, kGroups), stream, shape, memory);
}

}  // namespace

qv_status launch_documents(const DocumentShape& shape, const DocumentMemory& memory, cudaStream_t stream) {
  launch_join_masks(memory.masks, stream);
  launch(start_document_searches, (shape.n_queries + kNameThreads - 1) / kNameThreads, kNameThreads, stream, shape,
         memory);
  const qv_status status = shape.tile_groups == 8   ? launch_scores<8>(shape, memory, stream)
                           : shape.tile_groups == 4 ? launch_scores<4>(shape, memory, stream)
                                                    : launch_scores<2>(shape, memory, stream);
  if (status != QV_DONE) return status;
  const dim3 all(static_cast<uint32_t>((shape.n_documents + kNameThreads - 1) / kNameThreads), shape.n_queries);
  launch(keep_slabs_of_documents, all, kNameThreads, stream, shape, memory);
  launch(set_document_bars, shape.n_queries, kNameThreads, stream, shape, memory);
  launch(find_documents, all, kNameThreads, stream, shape, memory);
  launch(name_documents, shape.n_queries, kNameThreads, stream, shape, memory);
  return status_of(cudaGetLastError());
}

}  // namespace quiver::gpu_cuda
