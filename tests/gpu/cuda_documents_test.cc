// The text of the CUDA kernels for documents of tokens, run on the CPU (cuda_on_cpu.h): the
// documents named hold the best ones.
#include "tests/gpu/cuda_on_cpu.h"
// After it, as it replaces what CUDA has.
#include "gpu/encode.h"
#include "gpu_cuda/documents.cu"
#include "gpu_cuda/documents_plan.cuh"
#include "tests/gpu/support.h"

namespace quiver::gpu_cuda {
namespace {

using gpu::testing::Kind;
using gpu::testing::Random;

struct TokenQuery {
  std::vector<float> tokens;
  std::uint32_t k;
};

/// A block's shared memory. 24 KiB: not even eight groups of many dimensions fit.
constexpr std::uint32_t kMostShared = 24 * 1024;

/// The lists of documents; nullopt where the device is not certain.
gpu::RowLists run_documents(const gpu::Documents& stored, const std::vector<TokenQuery>& queries,
                            const gpu::testing::TestMasks& masks, std::uint32_t capacity,
                            std::uint32_t tile_groups) {
  gpu::EncodedDocuments encoded;
  EXPECT_TRUE(gpu::encode_documents(stored, 0, stored.n(), encoded));
  const std::uint32_t dim = stored.tokens.dim;
  const std::uint32_t stride = gpu::token_stride(dim);
  std::vector<std::uint16_t> halves;
  std::vector<qv_token_query> facts(queries.size());
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const std::size_t at = halves.size();
    halves.resize(at + gpu::padded_tokens(queries[i].tokens.size() / dim) * stride / 2);
    EXPECT_TRUE(gpu::encode_tokens(queries[i].tokens, dim, halves.data() + at, facts[i]));
    facts[i].first_group = group;
    facts[i].k = queries[i].k;
    facts[i].mask = masks.number_of(i);
    group += facts[i].n_groups;
  }
  std::vector<uint32_t> out(queries.size() * capacity, 0xA5A5A5A5);
  std::vector<uint32_t> n(queries.size(), 0xA5A5A5A5);
  const qv_documents job = {
      sizeof job,     static_cast<uint32_t>(queries.size()), nullptr,  halves.data(), facts.data(),
      masks.of_job(), gpu::token_rounding(dim, 100),         capacity, out.data(),    n.data()};
  const DocumentRows rows = {reinterpret_cast<const int8_t*>(encoded.tokens.data()),
                             encoded.documents.data(), stored.n(), stride};
  const DocumentShape shape = shape_of(job, rows, kMostShared);
  EXPECT_EQ(shape.tile_groups, tile_groups);
  DocumentInputs inputs = {};
  Pieces size(nullptr);
  memory_of(job, rows, shape, size, inputs);
  std::vector<std::uint64_t> workspace(size.used() / 8, 0xA5A5A5A5A5A5A5A5);
  Pieces pieces(workspace.data());
  const DocumentMemory memory = memory_of(job, rows, shape, pieces, inputs);
  // As copy_inputs of the module.
  std::memset(inputs.tokens, 0, padded_token_bytes(shape));
  std::memcpy(inputs.tokens, halves.data(), halves.size() * sizeof(std::uint16_t));
  std::copy(facts.begin(), facts.end(), inputs.queries);
  if (inputs.masks != nullptr) std::ranges::copy(masks.words(), inputs.masks);
  EXPECT_EQ(launch_documents(shape, memory, nullptr), QV_DONE);
  return gpu::testing::lists_of(out, n, capacity);
}

TEST(CudaDocuments, NameAllOfTheBest) {
  struct Shape {
    std::uint32_t n;
    std::uint32_t most;  ///< tokens of a document
    std::uint32_t dim;
    std::vector<std::uint32_t> query_tokens;
    std::uint32_t tile_groups;
    Kind kind;
  };
  Random random(51);
  for (const auto& [n, most, dim, query_tokens, tile_groups, kind] : {
           Shape{1, 3, 3, {1}, 2, Kind::kNormal},
           Shape{70, 70, 32, {9, 1}, 4, Kind::kNormal},
           Shape{130, 9, 65, {32}, 4, Kind::kOneLarge},
           Shape{90, 30, 16, {5, 40, 17, 100}, 8, Kind::kNormal},
           Shape{50, 20, 400, {20}, 2, Kind::kNormal},
           Shape{60, 12, 8, {8, 8, 8, 8, 8}, 8, Kind::kFewValues},
       }) {
    for (const auto& masks : gpu::testing::various_masks(n, random)) {
      SCOPED_TRACE(::testing::Message() << n << " documents, dim " << dim);
      const auto stored = gpu::testing::random_documents(n, most, dim, DType::kF32, kind, random);
      std::vector<TokenQuery> queries;
      for (const std::uint32_t tokens : query_tokens) {
        queries.push_back({gpu::testing::random_tokens(tokens, dim, random), 1 + tokens % 7});
      }
      const auto lists = run_documents(stored, queries, masks, 500, tile_groups);
      for (std::size_t q = 0; q < queries.size(); ++q) {
        ASSERT_TRUE(lists[q]);
        const auto there = gpu::testing::with_tokens(stored, masks.bits_of(q));
        gpu::testing::expect_complete(
            *lists[q], gpu::testing::all_scores(stored, queries[q].tokens), queries[q].k, there);
        if (kind == Kind::kNormal && n > 10) {
          EXPECT_LT(lists[q]->size(), queries[q].k + 5U);
        }
      }
    }
  }
}

TEST(CudaDocuments, SayWhenTheyAreNotCertain) {
  Random random(52);
  const auto stored =
      gpu::testing::random_documents(80, 0, 4, DType::kF32, Kind::kAllEqual, random);
  // All have one token, and all are equal.
  auto equal = gpu::testing::random_documents(1, 0, 4, DType::kF32, Kind::kAllEqual, random);
  const auto rows =
      gpu::testing::random_rows(80, 4, DType::kF32, Kind::kAllEqual, Similarity::kDot, random);
  std::vector<std::uint64_t> offsets(81);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = i;
  equal = {rows.bytes, rows.view, SharedSpan<std::uint64_t>::of(std::move(offsets))};
  const std::vector<TokenQuery> queries = {{{1, 2, 3, 4}, 3}};
  EXPECT_FALSE(run_documents(equal, queries, {}, 79, 2)[0]);
  EXPECT_EQ(run_documents(equal, queries, {}, 80, 2)[0]->size(), 80U);
  EXPECT_TRUE(run_documents(stored, queries, {}, 80, 2)[0]->empty());  // no tokens at all
}

TEST(CudaDocuments, PlansFitTheSharedMemory) {
  for (const std::uint32_t dim : {1U, 32U, 96U, 128U, 768U, 1024U, 4096U, 16384U}) {
    const std::uint32_t stride = gpu::token_stride(dim);
    EXPECT_EQ(token_pitch(stride) % 128, 64U);
    for (const std::uint32_t n_groups : {1U, 3U, 5U, 100U}) {
      for (const std::uint32_t most : {48U * 1024, 99U * 1024, 227U * 1024}) {
        const std::uint32_t groups = tile_groups_of(n_groups, stride, most);
        if (groups == 0) {
          EXPECT_GT(shared_of_tile(stride, 2), most);
          continue;
        }
        EXPECT_LE(shared_of_tile(stride, groups), most);
        // No more than are needed, and as many as fit.
        EXPECT_TRUE(groups == 2 || groups / 2 < n_groups);
        EXPECT_TRUE(groups >= n_groups || groups == 8 || shared_of_tile(stride, 2 * groups) > most);
      }
    }
  }
}

}  // namespace
}  // namespace quiver::gpu_cuda
