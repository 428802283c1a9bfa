#include "service/api/method_answers.h"

namespace quiver::service::api {

AnswerTimes& MethodAnswers::of(const std::string& method, int status, Counter& counter) {
  MutexLock lock(mutex_);
  auto& times = answers_[method][status];
  if (times == nullptr) times = std::make_unique<AnswerTimes>(counter);
  return *times;
}

MethodAnswers::Summaries MethodAnswers::summaries() const {
  MutexLock lock(mutex_);
  Summaries summaries;
  for (const auto& [method, statuses] : answers_) {
    for (const auto& [status, times] : statuses) {
      summaries[method][status] = times->summary();
    }
  }
  return summaries;
}

}  // namespace quiver::service::api
