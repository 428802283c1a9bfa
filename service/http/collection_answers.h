// How often each route answered for each collection, and how long the answers took.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/observe/metrics.h"
#include "service/api/answer_times.h"

namespace quiver::service {

/// Thread-safe.
class CollectionAnswers {
 public:
  /// More names are not counted, so that a caller cannot fill the memory by inventing them.
  static constexpr std::size_t kMaxCollections = 4096;

  /// `route`: static text, "POST /collections/{collection_name}/points/query". `collection`: the
  /// name or alias in the request, of a collection that exists.
  void count(const std::string& collection, std::string_view route, int status, double seconds)
      QV_EXCLUDES(mutex_);

  /// By route, then by status.
  using Answers = std::map<std::string_view, std::map<int, AnswerTimes::Summary>>;
  /// Calls `is_known(name)`; collections for which it is false are forgotten.
  [[nodiscard]] std::map<std::string, Answers> summaries(
      const std::function<bool(const std::string&)>& is_known) QV_EXCLUDES(mutex_);

 private:
  struct Counted {
    Counter counter;
    AnswerTimes times{counter};
  };
  using ByStatus = std::map<int, std::unique_ptr<Counted>>;
  using ByRoute = std::map<std::string_view, ByStatus>;

  Mutex mutex_;
  std::map<std::string, ByRoute> collections_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::service
