// The text of the CUDA kernels, run on the CPU (cuda_on_cpu.h): the rows named hold the best ones.
#include "tests/gpu/hopper_on_cpu.h"
// After it, as it replaces what CUDA has.
#include "gpu/encode.h"
#include "gpu_cuda/dense.cu"
#include "gpu_cuda/dense_hopper.cu"
#include "gpu_cuda/dense_plan.cuh"
#include "gpu_cuda/masks.cu"
#include "tests/gpu/support.h"

namespace quiver::gpu_cuda {
namespace {

using gpu::testing::Kind;
using gpu::testing::Random;

struct Device {
  DenseRows rows = {};
  std::vector<int8_t> codes;
  std::vector<qv_row> facts;

  explicit Device(const gpu::DenseRows& stored) {
    gpu::EncodedRows encoded;
    EXPECT_TRUE(gpu::encode_rows(stored.view, 0, stored.view.n_rows, encoded));
    codes = encoded.codes;
    facts = encoded.rows;
    const std::uint32_t stride = gpu::code_stride(stored.view.dim);
    codes.resize(tiles_of(facts.size()) * gpu::tiles::kTileRows * stride);
    facts.resize(tiles_of(facts.size()) * gpu::tiles::kTileRows);
    rows = {codes.data(), facts.data(), stored.view.n_rows, stride};
  }
};

struct Query {
  std::vector<float> vector;
  std::uint32_t k;
};

/// Queries of a block: 0 for the products of single warps, else for those of four.
using Columns = std::uint32_t;
/// Bytes that a block of an H100 may have, and few multiprocessors, so that blocks take several
/// units.
constexpr std::uint32_t kMostShared = 227 * 1024;
constexpr std::uint32_t kMultiprocessors = 3;

qv_status launch(Columns columns, const DenseShape& shape, const DenseMemory& memory) {
  if (columns == 0) return launch_dense(shape, memory, nullptr);
  const WidePlan plan = wide_plan(shape.stride, columns, kMostShared);
  WideMaps maps;
  EXPECT_EQ(plan.n_columns, columns);
  EXPECT_LE(plan.n_bytes, kMostShared);
  EXPECT_TRUE(make_maps(shape, memory, plan, maps));
  return launch_dense(shape, memory, nullptr, [&](bool is_sample) {
    return launch_wide(is_sample, shape, memory, plan, maps, kMultiprocessors, nullptr);
  });
}

/// The lists of rows; nullopt where the device is not certain.
gpu::RowLists run(Columns columns, const Device& device, const gpu::DenseRows& stored,
                  const std::vector<Query>& queries, const gpu::testing::TestMasks& masks,
                  std::uint32_t capacity) {
  const std::uint32_t stride = device.rows.stride;
  std::vector<int8_t> codes(queries.size() * stride);
  std::vector<qv_query> facts(queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    EXPECT_TRUE(gpu::encode_query(queries[i].vector, stored.similarity, codes.data() + i * stride,
                                  facts[i]));
    facts[i].k = queries[i].k;
    facts[i].mask = masks.number_of(i);
  }
  std::vector<uint32_t> out(queries.size() * capacity, 0xA5A5A5A5);
  std::vector<uint32_t> n(queries.size(), 0xA5A5A5A5);
  const qv_dense job = {
      sizeof job,     static_cast<uint32_t>(queries.size()), nullptr,  codes.data(), facts.data(),
      masks.of_job(), gpu::kernel_rounding(stored.view.dim), capacity, out.data(),   n.data()};
  const DenseShape shape = shape_of(job, device.rows);
  DenseInputs inputs = {};
  Pieces size(nullptr);
  memory_of(job, device.rows, shape, size, inputs);
  std::vector<std::uint64_t> workspace(size.used() / 8, 0xA5A5A5A5A5A5A5A5);
  Pieces pieces(workspace.data());
  const DenseMemory memory = memory_of(job, device.rows, shape, pieces, inputs);
  // As copy_inputs of the module.
  std::memset(inputs.codes, 0, padded_queries(queries.size()) * stride);
  std::memset(static_cast<void*>(inputs.queries), 0,
              padded_queries(queries.size()) * sizeof(qv_query));
  std::copy(codes.begin(), codes.end(), inputs.codes);
  std::copy(facts.begin(), facts.end(), inputs.queries);
  if (inputs.masks != nullptr) std::ranges::copy(masks.words(), inputs.masks);
  EXPECT_EQ(launch(columns, shape, memory), QV_DONE);
  return gpu::testing::lists_of(out, n, capacity);
}

std::vector<Query> random_queries(std::size_t n, std::uint32_t dim, Random& random) {
  std::vector<Query> queries;
  for (std::size_t i = 0; i < n; ++i) {
    queries.push_back(
        {gpu::testing::random_vector(dim, Kind::kNormal, random), i % 2 == 0 ? 3U : 20U});
  }
  return queries;
}

class CudaKernels : public ::testing::TestWithParam<Columns> {};

INSTANTIATE_TEST_SUITE_P(AllProducts, CudaKernels, ::testing::Values(0, 64, 128, 256),
                         [](const auto& of) { return "Columns" + std::to_string(of.param); });

TEST_P(CudaKernels, NameAllOfTheBestRows) {
  struct Shape {
    std::uint32_t n;
    std::uint32_t dim;
    std::size_t n_queries;
    Kind kind;
  };
  Random random(31);
  for (const auto& [n, dim, n_queries, kind] :
       {Shape{1, 3, 1, Kind::kNormal}, Shape{129, 65, 3, Kind::kNormal},
        Shape{300, 16, 65, Kind::kSpreadLengths}, Shape{600, 130, 2, Kind::kOneLarge},
        Shape{260, 7, 2, Kind::kFewValues}, Shape{700, 200, 2, Kind::kNormal},
        Shape{400, 768, 1, Kind::kNormal}}) {
    for (const auto& masks : gpu::testing::various_masks(n, random)) {
      const auto similarity = masks.n() % 2 == 1 ? Similarity::kNegL2Squared : Similarity::kDot;
      // Threads are slow here, and what the products share is tested once.
      if (GetParam() != 0 && (n_queries > 3 || (n > 1 && n < 300))) continue;
      if (GetParam() == 128 && dim != 768) continue;
      if (masks.n() == 1 && n_queries > 1) continue;
      SCOPED_TRACE(::testing::Message()
                   << n << " rows of " << dim << ", " << n_queries << " queries");
      const auto stored = gpu::testing::random_rows(n, dim, DType::kF32, kind, similarity, random);
      const Device device(stored);
      const auto queries = random_queries(n_queries, dim, random);
      const auto lists = run(GetParam(), device, stored, queries, masks, 2000);
      for (std::size_t q = 0; q < queries.size(); ++q) {
        ASSERT_TRUE(lists[q]);
        gpu::testing::expect_complete(*lists[q],
                                      gpu::testing::all_scores(stored, queries[q].vector),
                                      queries[q].k, masks.bits_of(q));
        // About as few as can be: rows of equal scores aside, and random ones of many dimensions.
        if (kind == Kind::kNormal && n > 100 && dim < 500) {
          EXPECT_LT(lists[q]->size(), 3U * queries[q].k + 10);
        }
      }
    }
  }
}

TEST_P(CudaKernels, SayWhenTheyAreNotCertain) {
  Random random(32);
  const auto stored =
      gpu::testing::random_rows(200, 4, DType::kF32, Kind::kAllEqual, Similarity::kDot, random);
  const Device device(stored);
  const std::vector<Query> queries = {{{1, 2, 3, 4}, 3}};
  EXPECT_FALSE(run(GetParam(), device, stored, queries, {}, 100)[0]);  // 200 equal rows
  EXPECT_EQ(run(GetParam(), device, stored, queries, {}, 200)[0]->size(), 200U);
}

/// More rows reach the first bar than there is room for. A second pass finds few, or too many if
/// all are equal.
TEST_P(CudaKernels, RunASecondPass) {
  Random random(33);
  const std::uint32_t n = 40 * gpu::tiles::kTileRows;
  for (const bool are_equal : {false, true}) {
    auto stored = gpu::testing::random_rows(
        n, 8, DType::kF32, are_equal ? Kind::kAllEqual : Kind::kNormal, Similarity::kDot, random);
    const std::vector<float> query = {1, 1, 1, 1, 1, 1, 1, 1};
    std::vector<std::byte> bytes(stored.bytes.begin(), stored.bytes.end());
    const std::uint32_t step = gpu::tiles::sample_step(40, 3);
    ASSERT_GT(step, 4U);
    for (std::uint32_t i = 0; i < n; ++i) {
      auto* row = reinterpret_cast<float*>(bytes.data() + i * stored.view.stride_bytes);
      const bool is_sampled = i / gpu::tiles::kTileRows % step == 0;
      for (int j = 0; j < 8; ++j) row[j] -= is_sampled ? 9.0F : 0.0F;
    }
    stored.bytes = SharedBytes::of(std::move(bytes));
    stored.view.data = stored.bytes.data();
    const Device device(stored);
    const auto lists = run(GetParam(), device, stored, {{query, 3}}, {}, 2000);
    ASSERT_EQ(lists[0].has_value(), !are_equal);
    if (lists[0]) {
      gpu::testing::expect_complete(*lists[0], gpu::testing::all_scores(stored, query), 3, {});
      EXPECT_LT(lists[0]->size(), 60U);
    }
  }
}

}  // namespace
}  // namespace quiver::gpu_cuda
