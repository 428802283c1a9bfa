// The text of the CUDA kernels for lists and second codes, run on the CPU (cuda_on_cpu.h).
#include "tests/gpu/cuda_on_cpu.h"
// After it, as it replaces what CUDA has.
#include "gpu_cuda/lists.cu"
#include "gpu_cuda/products.cu"
#include "tests/gpu/lists_support.h"

namespace quiver::gpu_cuda {
namespace {

using gpu::testing::Random;
using gpu::testing::RandomListQuery;
using gpu::testing::RandomProductQuery;

/// A job as `ListJob` writes it.
struct Job {
  std::vector<uint8_t> tables;
  std::vector<qv_list_query> queries;
  std::vector<qv_visit> visits;
  std::vector<float> scores;
  std::vector<uint32_t> positions;
  std::vector<uint32_t> n;
  qv_lists job = {};

  Job(const gpu::CodeLists& lists, const std::vector<RandomListQuery>& asked, uint32_t capacity) {
    uint32_t n_slots = 0;
    for (uint32_t i = 0; i < asked.size(); ++i) {
      const auto& of_query = asked[i].tables;
      tables.insert(tables.end(), of_query.tables,
                    of_query.tables + std::size_t{128} * lists.blocks.n_lines);
      const float offset =
          -0.5F * static_cast<float>((1U << lists.blocks.n_bits) - 1) * of_query.absolute;
      queries.push_back({of_query.step, offset, static_cast<uint32_t>(asked[i].k), n_slots, 0});
      for (const auto& visit : asked[i].visits) {
        const uint32_t n_blocks =
            lists.first_blocks[visit.list + 1] - lists.first_blocks[visit.list];
        if (n_blocks == 0) continue;
        visits.push_back({i, visit.list, visit.base, n_slots, 0});
        n_slots += n_blocks * 16;
        job.most_blocks = std::max(job.most_blocks, n_blocks);
      }
      queries[i].n_slots = n_slots - queries[i].first_slot;
    }
    std::ranges::stable_sort(visits, {}, &qv_visit::list);
    for (std::size_t i = 1; i < visits.size(); ++i) {
      visits[i].rank = visits[i].list == visits[i - 1].list ? visits[i - 1].rank + 1 : 0;
    }
    scores.assign(asked.size() * capacity, NAN);
    positions.assign(asked.size() * capacity, 0xA5A5A5A5);
    n.assign(asked.size(), 0xA5A5A5A5);
    job.n_queries = static_cast<uint32_t>(asked.size());
    job.tables = tables.data();
    job.queries = queries.data();
    job.visits = visits.data();
    job.n_visits = static_cast<uint32_t>(visits.size());
    job.n_slots = n_slots;
    job.capacity = capacity;
    job.scores = scores.data();
    job.positions = positions.data();
    job.n_positions = n.data();
  }
};

gpu::BestCodes run_lists(const gpu::CodeLists& lists, const std::vector<RandomListQuery>& asked,
                         uint32_t capacity, uint32_t most_shared, uint32_t tile_groups) {
  const Job job(lists, asked, capacity);
  const StoredLists stored = {
      reinterpret_cast<const char*>(lists.blocks.first), lists.first_blocks.data(),
      static_cast<uint32_t>(lists.blocks.block_bytes()), lists.blocks.n_bits};
  const ListShape shape = shape_of(job.job, stored, most_shared);
  EXPECT_EQ(shape.n_lines, lists.blocks.n_lines);
  EXPECT_EQ(shape.tile_groups, tile_groups);
  ListInputs inputs = {};
  Pieces size(nullptr);
  memory_of(job.job, stored, shape, size, inputs);
  std::vector<std::uint64_t> workspace(size.used() / 8, 0xA5A5A5A5A5A5A5A5);
  Pieces pieces(workspace.data());
  const ListMemory memory = memory_of(job.job, stored, shape, pieces, inputs);
  // As copy_inputs of the module.
  std::memcpy(inputs.tables, job.tables.data(), table_bytes(shape));
  std::ranges::copy(job.queries, inputs.queries);
  std::ranges::copy(job.visits, inputs.visits);
  EXPECT_EQ(launch_lists(shape, memory, nullptr), QV_DONE);
  gpu::BestCodes found(asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (job.n[i] == QV_NOT_CERTIFIED) continue;
    const auto first = static_cast<std::ptrdiff_t>(i * capacity);
    found[i] = {{job.scores.begin() + first, job.scores.begin() + first + job.n[i]},
                {job.positions.begin() + first, job.positions.begin() + first + job.n[i]}};
  }
  return found;
}

constexpr uint32_t kMostShared = 227 * 1024;

TEST(CudaLists, NameTheBestCodesWithTheBitsOfTheCpu) {
  struct Shape {
    uint32_t n_lines;
    uint32_t n_bits;
    uint32_t n_lists;
    uint32_t most_blocks;
    std::size_t n_queries;
    uint32_t tile_groups;
  };
  Random random(91);
  for (const auto& [n_lines, n_bits, n_lists, most_blocks, n_queries, tile_groups] :
       {Shape{1, 1, 3, 2, 1, 1}, Shape{5, 1, 4, 3, 40, 4}, Shape{24, 1, 6, 2, 9, 1},
        Shape{4, 1, 1, 40, 35, 4}, Shape{2, 2, 4, 2, 3, 1}, Shape{3, 3, 2, 3, 34, 4},
        Shape{4, 4, 3, 2, 2, 1}, Shape{6, 5, 3, 2, 2, 1}, Shape{2, 8, 4, 2, 6, 1},
        Shape{9, 8, 2, 2, 20, 4}}) {
    SCOPED_TRACE(::testing::Message() << n_bits << " bits, " << n_lines << " lines");
    auto lists = gpu::testing::random_lists(n_lists, most_blocks, n_lines, n_bits, false, random);
    while (lists.blocks.n == 0) {
      lists = gpu::testing::random_lists(n_lists, most_blocks, n_lines, n_bits, false, random);
    }
    std::vector<RandomListQuery> queries;
    for (std::size_t i = 0; i < n_queries; ++i) {
      queries.emplace_back(lists, i == 0 ? n_lists : 1 + random() % n_lists, 1 + random() % 60,
                           random);
    }
    // A tile is large if lists have more than eight visits on average.
    const auto found = run_lists(lists, queries, 2000, kMostShared, tile_groups);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      ASSERT_TRUE(found[i]) << i;
      gpu::testing::expect_best(*found[i], lists, queries[i].asked());
    }
  }
}

TEST(CudaLists, SayWhenTooManyAreEqual) {
  Random random(92);
  const auto lists = gpu::testing::random_lists(3, 9, 1, 1, true, random);
  std::vector<RandomListQuery> queries;
  queries.emplace_back(lists, 3, 5, random);
  for (auto& visit : queries[0].visits) visit.base = 1;
  const auto n_codes = static_cast<uint32_t>(lists.blocks.n * 16);
  EXPECT_FALSE(run_lists(lists, queries, n_codes - 1, kMostShared, 1)[0]);
  EXPECT_EQ(run_lists(lists, queries, n_codes, kMostShared, 1)[0]->scores.size(), n_codes);
}

TEST(CudaLists, PlansFitTheSharedMemory) {
  qv_visit visits[100] = {};
  qv_lists job = {};
  job.visits = visits;
  job.n_visits = 100;  // of one list
  for (uint32_t i = 0; i < 100; ++i) visits[i].rank = i;
  for (const uint32_t n_lines : {1U, 2U, 12U, 24U, 48U, 128U, 256U}) {
    EXPECT_EQ(table_pitch(n_lines) % 128, 64U);
    for (const uint32_t most : {48U * 1024, 99U * 1024, kMostShared}) {
      const uint32_t groups = groups_of_tile(job, n_lines, most);
      if (groups == 0) {
        EXPECT_GT(shared_of_tables(n_lines, 1) + 1024, most);
      } else {
        EXPECT_LE(shared_of_tables(n_lines, groups) + 1024, most);
        EXPECT_TRUE(groups == kManyGroups || shared_of_tables(n_lines, kManyGroups) + 1024 > most);
      }
    }
  }
  job.n_visits = 8;
  EXPECT_EQ(groups_of_tile(job, 24, kMostShared), 1U);
}

TEST(CudaProducts, AreThoseOfIntegers) {
  Random random(93);
  for (const uint32_t n_bits : {8U, 4U}) {
    for (const uint32_t dim : {32U, 160U, 768U, 2080U}) {
      SCOPED_TRACE(::testing::Message() << n_bits << " bits, " << dim << " dimensions");
      const auto codes = gpu::testing::random_bytes(30, dim, n_bits, random);
      const uint32_t n_values = values_of_row(codes.stride, n_bits);
      std::vector<int8_t> values(3 * n_values, 0);
      std::vector<uint32_t> rows;
      std::vector<uint32_t> query_of;
      std::vector<int32_t> wanted;
      for (uint32_t i = 0; i < 3; ++i) {
        const RandomProductQuery query(codes, i * 7, random);
        std::ranges::copy(query.values, values.begin() + i * n_values);
        rows.insert(rows.end(), query.rows.begin(), query.rows.end());
        query_of.insert(query_of.end(), query.rows.size(), i);
        const auto products = gpu::testing::multiply_on_cpu(codes, query.asked());
        wanted.insert(wanted.end(), products.begin(), products.end());
      }
      std::vector<int32_t> products(rows.size(), -1);
      const auto* const bytes = reinterpret_cast<const int8_t*>(codes.bytes.data());
      const ProductShape shape = {codes.stride, n_bits, 3, static_cast<uint32_t>(rows.size())};
      const ProductMemory memory = {bytes, values.data(), rows.data(), query_of.data(),
                                    products.data()};
      EXPECT_EQ(launch_products(shape, memory, nullptr), QV_DONE);
      EXPECT_EQ(products, wanted);
    }
  }
}

}  // namespace
}  // namespace quiver::gpu_cuda
