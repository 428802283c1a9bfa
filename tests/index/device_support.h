// Searches with and without an emulated device.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpu/devices.h"
#include "index/index.h"

namespace quiver::index::testing {

inline std::unique_ptr<gpu::Devices> open_emulated(const std::string& name = "emulated",
                                                   double check_share = 0,
                                                   std::uint64_t min_bytes = 0) {
  gpu::Options options;
  options.check_share = check_share;
  options.devices = name;
  options.min_bytes = min_bytes;
  // Long, as an emulated device under a sanitizer is slow.
  const bool hangs = name.find("hang") != std::string::npos;
  options.job_time = hangs ? std::chrono::milliseconds(200) : std::chrono::minutes(1);
  auto devices = gpu::Devices::open(options);
  return devices ? *std::move(devices) : nullptr;
}

/// Queries of a field, and how they are asked.
struct Question {
  std::vector<PreparedQuery> queries;
  std::vector<std::size_t> limits;
  KeyValues values;
  Prefer prefer = Prefer::kAny;
  Bitset allowed;

  void add(PreparedQuery query) {
    limits.push_back(queries.size() % 7 == 3 ? 60 : queries.size() % 12);
    queries.push_back(std::move(query));
  }
};

using Answer = std::vector<std::vector<Hit>>;

/// The queries one by one, or all together.
inline Answer ask(const IndexType& type, const Searcher& searcher, const Question& question,
                  gpu::Devices* devices, bool together, Executor* executor = nullptr,
                  WorkCounters* counters = nullptr) {
  const Cancel cancel;
  const SearchContext context{cancel, executor, question.prefer, devices};
  const auto params = type.parse_search(question.values);
  const auto filter = RowFilter::of(question.allowed);
  WorkCounters work;
  std::vector<TopK> heaps;
  std::vector<const PreparedQuery*> queries;
  std::vector<TopK*> results;
  for (const std::size_t k : question.limits) heaps.emplace_back(k);
  for (std::size_t i = 0; i < heaps.size(); ++i) {
    queries.push_back(&question.queries[i]);
    results.push_back(&heaps[i]);
  }
  if (together) {
    EXPECT_TRUE(searcher.search_batch(queries, *params, filter, context, results, work));
  } else {
    for (std::size_t i = 0; i < heaps.size(); ++i) {
      EXPECT_TRUE(searcher.search(*queries[i], *params, filter, context, heaps[i], work));
    }
  }
  if (counters != nullptr) *counters = work;
  Answer answer;
  for (auto& heap : heaps) answer.push_back(heap.take_sorted());
  return answer;
}

/// The same hits with the same bits of scores.
inline void expect_same_answer(const Answer& got, const Answer& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t q = 0; q < got.size(); ++q) {
    ASSERT_EQ(got[q].size(), wanted[q].size()) << "query " << q;
    if (got[q].empty()) continue;
    const std::size_t n_bytes = got[q].size() * sizeof(Hit);
    EXPECT_EQ(std::memcmp(got[q].data(), wanted[q].data(), n_bytes), 0) << "query " << q;
  }
}

}  // namespace quiver::index::testing
