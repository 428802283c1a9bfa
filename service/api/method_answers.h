// How often each method of gRPC answered with each status, for reports about the server.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/observe/metrics.h"
#include "service/api/answer_times.h"

namespace quiver::service::api {

/// Thread-safe.
class MethodAnswers {
 public:
  /// Made at the first call; lives as long as this. `counter`: of the same answers; outlives this.
  AnswerTimes& of(const std::string& method, int status, Counter& counter) QV_EXCLUDES(mutex_);

  using Summaries = std::map<std::string, std::map<int, AnswerTimes::Summary>>;
  /// By method, then by status.
  [[nodiscard]] Summaries summaries() const QV_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::map<int, std::unique_ptr<AnswerTimes>>> answers_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::service::api
