#include "app/load/batch_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "app/load/bodies.h"

namespace quiver::app {
namespace {

double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

BatchQueue::BatchQueue(const Endpoint& endpoint, const LoadOptions& options,
                       const NpyMatrix& vectors, const std::vector<std::string>& payloads,
                       RowRange rows)
    : endpoint_(endpoint),
      options_(options),
      vectors_(vectors),
      payloads_(payloads),
      rows_(rows),
      vector_(vectors.dim()),
      writer_([this] { write_all(); }) {
  if (options_.queue > 0) return;
  MutexLock lock(mutex_);
  while (!written_) changed_.wait(mutex_);
}

BatchQueue::~BatchQueue() {
  {
    MutexLock lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  writer_.join();
}

RequestSource::State BatchQueue::next(RequestText& request) {
  {
    MutexLock lock(mutex_);
    if (ready_.empty()) return written_ ? State::kEnd : State::kLater;
    request = std::move(ready_.front());
    ready_.pop_front();
  }
  changed_.notify_all();
  sent_bytes_ += request->size();
  return State::kReady;
}

double BatchQueue::writer_cpu_s() const {
  MutexLock lock(mutex_);
  return writer_cpu_s_;
}

RequestText BatchQueue::write_batch(RowRange rows) {
  UpsertBody body(options_.vector_name);
  for (std::size_t i = rows.first; i < rows.second; ++i) {
    vectors_.row(i, vector_);
    body.add(i, vector_, payloads_.empty() ? std::string_view() : payloads_[i]);
  }
  const std::string target = fmt::format("/collections/{}/points?wait={}",
                                         escape_segment(options_.collection), options_.wait);
  return std::make_shared<const std::string>(
      request_text("PUT", target, endpoint_, options_.api_key, body.finish()));
}

bool BatchQueue::push(RequestText request) {
  MutexLock lock(mutex_);
  while (!abandoned_ && options_.queue > 0 && ready_.size() >= options_.queue) {
    changed_.wait(mutex_);
  }
  ready_.push_back(std::move(request));
  writer_cpu_s_ = thread_cpu_s();
  return !abandoned_;
}

void BatchQueue::write_all() {
  for (std::size_t i = rows_.first; i < rows_.second; i += options_.batch) {
    if (!push(write_batch({i, std::min(i + options_.batch, rows_.second)}))) break;
  }
  {
    MutexLock lock(mutex_);
    written_ = true;
  }
  changed_.notify_all();
}

}  // namespace quiver::app
