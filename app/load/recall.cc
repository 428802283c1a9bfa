#include "app/load/recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "app/client/connection.h"
#include "dataset/vectors.h"

namespace quiver::app {

std::vector<std::int64_t> ids_of(std::string_view answer) {
  constexpr std::string_view kKey = "\"id\":";
  std::vector<std::int64_t> ids;
  for (auto at = answer.find(kKey); at != std::string_view::npos; at = answer.find(kKey, at)) {
    at += kKey.size();
    std::int64_t id = -1;  // stays so for a UUID, which no ground truth holds
    std::from_chars(answer.data() + at, answer.data() + answer.size(), id);
    ids.push_back(id);
  }
  return ids;
}

double overlap(std::span<const std::int64_t> ids, std::span<const std::int64_t> truth) {
  const auto n = std::count_if(truth.begin(), truth.end(), [&](std::int64_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  });
  return static_cast<double>(n) / static_cast<double>(truth.size());
}

Result<NetworkRecall> recall_over_network(const Endpoint& endpoint,
                                          const std::vector<RequestText>& requests,
                                          std::uint64_t first_row, const std::string& ground_truth,
                                          std::uint32_t k) {
  QV_TRY(const auto truth, dataset::load_neighbours(ground_truth));
  if (truth.n_queries < first_row + requests.size() || truth.k < k) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} holds {} queries with {} neighbours, wanted {} with {}", ground_truth,
                    truth.n_queries, truth.k, first_row + requests.size(), k));
  }
  QV_TRY(const auto answers, fetch_all(endpoint, requests));
  NetworkRecall recall;
  recall.n_queries = answers.size();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto ids = ids_of(answers[i].body);
    recall.n_short += ids.size() < k ? 1 : 0;
    recall.mean += overlap(ids, std::span(truth.ids).subspan((first_row + i) * truth.k, k));
  }
  recall.mean /= static_cast<double>(answers.size());
  return recall;
}

}  // namespace quiver::app
