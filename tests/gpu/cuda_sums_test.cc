// The text of the CUDA kernels for sums of impacts, run on the CPU (cuda_on_cpu.h).
#include "tests/gpu/cuda_on_cpu.h"
// After it, as it replaces what CUDA has.
#include "gpu_cuda/sums.cu"
#include "gpu_cuda/sums_plan.cuh"
#include "tests/gpu/sums_support.h"

namespace quiver::gpu_cuda {
namespace {

using gpu::testing::Random;
using gpu::testing::RandomRuns;
using gpu::testing::RandomSumQuery;

/// Two queries a block.
constexpr uint32_t kMostShared = 80 * 1024;

gpu::SummedRows run_sums(const RandomRuns& runs, const std::vector<RandomSumQuery>& asked,
                         const gpu::testing::TestMasks& masks, uint32_t capacity) {
  std::vector<qv_sum_term> terms;
  std::vector<qv_sum_query> queries;
  for (const auto& query : asked) {
    queries.push_back({static_cast<uint32_t>(terms.size()),
                       static_cast<uint32_t>(query.terms.size()), static_cast<uint32_t>(query.k),
                       masks.number_of(queries.size())});
    terms.insert(terms.end(), query.terms.begin(), query.terms.end());
  }
  std::vector<uint32_t> rows(asked.size() * capacity, 0xA5A5A5A5);
  std::vector<uint32_t> sums(asked.size() * capacity, 0xA5A5A5A5);
  std::vector<uint32_t> n(asked.size(), 0xA5A5A5A5);
  const qv_sums job = {sizeof job,
                       static_cast<uint32_t>(asked.size()),
                       nullptr,
                       terms.data(),
                       queries.data(),
                       masks.of_job(),
                       static_cast<uint32_t>(terms.size()),
                       runs.runs.n_rows,
                       capacity,
                       rows.data(),
                       sums.data(),
                       n.data()};
  const StoredRuns stored = {runs.runs.runs.data(), runs.runs.places.data(), runs.runs.runs.size()};
  const SumShape shape = shape_of(job, stored, kMostShared);
  EXPECT_EQ(shape.n_warps, std::min<std::size_t>(2, asked.size()));
  SumInputs inputs = {};
  Pieces size(nullptr);
  memory_of(job, stored, shape, size, inputs);
  std::vector<std::uint64_t> workspace(size.used() / 8, 0xA5A5A5A5A5A5A5A5);
  Pieces pieces(workspace.data());
  const SumMemory memory = memory_of(job, stored, shape, pieces, inputs);
  // As copy_inputs of the module.
  std::ranges::copy(terms, inputs.terms);
  std::ranges::copy(queries, inputs.queries);
  if (inputs.masks != nullptr) std::ranges::copy(masks.words(), inputs.masks);
  EXPECT_EQ(launch_sums(shape, memory, nullptr), QV_DONE);
  gpu::SummedRows found(asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (n[i] == QV_NOT_CERTIFIED) continue;
    auto& list = found[i].emplace();
    for (uint32_t j = 0; j < n[i]; ++j) {
      list.push_back({rows[i * capacity + j], sums[i * capacity + j]});
    }
    std::ranges::sort(list, {}, &gpu::SummedRow::row);
  }
  return found;
}

TEST(CudaSums, NameTheLargest) {
  Random random(111);
  for (const std::uint32_t n_rows : {40U, 16'385U, 300'000U}) {
    SCOPED_TRACE(::testing::Message() << n_rows << " rows");
    std::vector<std::uint32_t> n_each = {0, 1, 31, 32, 33, 64, 65, 500};
    while (n_rows < 20'000 && n_each.size() < 40) n_each.push_back(20);
    if (n_rows < 20'000) n_each.push_back(20'000);
    const RandomRuns runs(n_rows, n_each, random);
    std::vector<RandomSumQuery> queries;
    queries.emplace_back(runs, 1, 65535, 1, random);
    queries.emplace_back(runs, 5, 8000, 10, random);
    queries.emplace_back(runs, 40, 1000, 30, random);
    for (const auto& masks : gpu::testing::various_masks(n_rows, random)) {
      const auto found = run_sums(runs, queries, masks, 6000);
      for (std::size_t i = 0; i < queries.size(); ++i) {
        ASSERT_TRUE(found[i]) << i;
        gpu::testing::expect_largest(*found[i], runs, queries[i].asked(), masks.bits_of(i));
      }
    }
  }
}

/// The sample is the first range, of which no row is allowed: the first pass finds more rows than
/// there is room for, and the second one has a bar.
TEST(CudaSums, ASecondPassHasAHigherBar) {
  Random random(114);
  const RandomRuns runs(5 * QV_RANGE_ROWS, {3000, 3000, 3000}, random);
  std::vector<std::uint64_t> allowed(runs.runs.n_rows / 64, ~std::uint64_t{0});
  std::fill_n(allowed.begin(), QV_RANGE_ROWS / 64, std::uint64_t{0});
  std::vector<RandomSumQuery> queries;
  queries.emplace_back(runs, 3, 20'000, 5, random);
  for (auto& term : queries[0].terms) term.first_level = 0;
  const auto found = run_sums(runs, queries, {{allowed}, false}, 500);
  ASSERT_TRUE(found[0]);
  gpu::testing::expect_largest(*found[0], runs, queries[0].asked(), allowed);
}

TEST(CudaSums, SayWhenTooManyAreEqual) {
  Random random(112);
  const RandomRuns runs(500, {300}, random);
  std::vector<RandomSumQuery> queries;
  queries.emplace_back(runs, 1, 1, 10, random);
  queries[0].terms[0].first_level = 0;
  EXPECT_FALSE(run_sums(runs, queries, {}, 299)[0]);
  EXPECT_EQ(run_sums(runs, queries, {}, 300)[0]->size(), 300U);
}

/// A run that leads out of the part, as a file that is damaged while it is in use may have.
TEST(CudaSums, ARunThatIsTooLongIsLeftOut) {
  Random random(113);
  RandomRuns runs(100, {20, 30}, random);
  std::vector<std::uint16_t> values(runs.runs.runs.begin(), runs.runs.runs.end());
  const std::size_t last = std::size_t{16} * runs.runs.places[1];
  std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(last), 16, std::uint16_t{60'000});
  std::vector<std::uint32_t> places(runs.runs.places.begin(), runs.runs.places.end());
  std::vector<RandomSumQuery> queries;
  queries.emplace_back(runs, 2, 100, 1000, random);
  for (auto& term : queries[0].terms) term.first_level = 0;
  runs.runs.runs = SharedSpan<std::uint16_t>::of(values);
  runs.postings[1].clear();
  auto found = run_sums(runs, queries, {}, 2000);
  ASSERT_TRUE(found[0]);
  gpu::testing::expect_largest(*found[0], runs, queries[0].asked(), {});
  places[1] = 1'000'000;
  runs.runs.places = SharedSpan<std::uint32_t>::of(places);
  found = run_sums(runs, queries, {}, 2000);
  ASSERT_TRUE(found[0]);
  gpu::testing::expect_largest(*found[0], runs, queries[0].asked(), {});
}

}  // namespace
}  // namespace quiver::gpu_cuda
