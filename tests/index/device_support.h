// Searches with and without an emulated device.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu/devices.h"
#include "index/index.h"
#include "tests/index/built_index.h"
#include "tests/patience.h"

namespace quiver::index::testing {

inline std::unique_ptr<gpu::Devices> open_emulated(const std::string& name, gpu::Options options) {
  options.devices = name;
  // Long, as an emulated device under a sanitizer is slow.
  const bool hangs = name.find("hang") != std::string::npos;
  options.job_time = hangs ? std::chrono::milliseconds(200) : std::chrono::minutes(1);
  auto devices = gpu::Devices::open(options);
  return devices ? *std::move(devices) : nullptr;
}

inline std::unique_ptr<gpu::Devices> open_emulated(const std::string& name = "emulated",
                                                   double check_share = 0,
                                                   std::uint64_t min_bytes = 0) {
  gpu::Options options;
  options.check_share = check_share;
  options.min_bytes = min_bytes;
  return open_emulated(name, options);
}

/// Queries of a field, and how they are asked.
struct Question {
  std::vector<PreparedQuery> queries;
  std::vector<std::size_t> limits;
  KeyValues values;
  Prefer prefer = Prefer::kAny;
  Bitset allowed;
  std::vector<Bitset> others;  ///< further filters: queries have them and `allowed` in turn

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
  std::vector<RowFilter> filters = {RowFilter::of(question.allowed)};
  for (const Bitset& allowed : question.others) filters.push_back(RowFilter::of(allowed));
  const auto filter_of = [&](std::size_t i) -> const RowFilter& {
    return filters[i % filters.size()];
  };
  WorkCounters work;
  std::vector<TopK> heaps;
  std::vector<const PreparedQuery*> queries;
  std::vector<TopK*> results;
  for (const std::size_t k : question.limits) heaps.emplace_back(k);
  for (std::size_t i = 0; i < heaps.size(); ++i) {
    queries.push_back(&question.queries[i]);
    results.push_back(&heaps[i]);
  }
  if (together && filters.size() > 1) {
    std::vector<FilteredQuery> filtered;
    for (std::size_t i = 0; i < heaps.size(); ++i) {
      filtered.push_back({queries[i], &filter_of(i), results[i]});
    }
    EXPECT_TRUE(searcher.search_filtered(filtered, *params, context, work));
  } else if (together) {
    EXPECT_TRUE(searcher.search_batch(queries, *params, filter_of(0), context, results, work));
  } else {
    for (std::size_t i = 0; i < heaps.size(); ++i) {
      EXPECT_TRUE(searcher.search(*queries[i], *params, filter_of(i), context, heaps[i], work));
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

/// An index that shares a device with others, a question and its answer.
struct Contender {
  std::shared_ptr<const BuiltIndex> index;
  Question question;
  Answer wanted;
};

/// Searchers of the same files, which no device knows yet.
inline std::vector<std::unique_ptr<Searcher>> open_all(const std::vector<Contender>& contenders) {
  std::vector<std::unique_ptr<Searcher>> searchers;
  for (const Contender& one : contenders) searchers.push_back(one.index->open_again());
  return searchers;
}

/// Many clients ask many indexes of one type, of which a device holds a tenth at a time.
inline void expect_same_answers_from_a_small_device(const std::vector<Contender>& contenders,
                                                    const std::string& name) {
  constexpr int kClients = 64;
  constexpr int kCalls = 6;
  std::uint64_t n_bytes = 0;  // of all
  {
    const auto large = open_emulated();
    const auto searchers = open_all(contenders);
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const auto& [index, question, wanted] = contenders[i];
      expect_same_answer(ask(index->type, *searchers[i], question, large.get(), true), wanted);
    }
    large->wait_for_loading();
    n_bytes = large->report().devices[0].resident_bytes;
  }
  gpu::Options options;
  options.check_share = 0.1;
  options.min_bytes = 0;
  options.memory_bytes = n_bytes / 10;
  options.idle_time = std::chrono::milliseconds(0);
  const auto devices = open_emulated(name, options);
  ASSERT_NE(devices, nullptr);
  const auto searchers = open_all(contenders);
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      for (int call = 0; call < kCalls; ++call) {
        const std::size_t i = static_cast<std::size_t>(client + call) % contenders.size();
        const auto& [index, question, wanted] = contenders[i];
        const bool together = (client + call / 2) % 3 != 0;
        expect_same_answer(ask(index->type, *searchers[i], question, devices.get(), together),
                           wanted);
        if (call % 2 == 0) devices->wait_for_loading();
      }
    });
  }
  for (std::thread& client : clients) client.join();
  devices->wait_for_loading();
  const auto report = devices->report();
  EXPECT_LE(report.devices[0].resident_bytes, n_bytes / 10);
  EXPECT_EQ(report.devices[0].n_different, 0U);
  if (name != "emulated") return;
  EXPECT_GT(report.n_evictions, 0U);
  EXPECT_GT(report.devices[0].n_queries, 0U);
  // How many it had depends on who came when. A client that stays gets it.
  EXPECT_TRUE(comes_true([&] {
    const auto& [index, question, wanted] = contenders[0];
    expect_same_answer(ask(index->type, *searchers[0], question, devices.get(), true), wanted);
    devices->wait_for_loading();
    const std::uint64_t n_queries = devices->report().devices[0].n_queries;
    return n_queries > 100 && n_queries > report.devices[0].n_queries;
  }));
}

}  // namespace quiver::index::testing
