#include "bench/load/batch_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "bench/load/bodies.h"

namespace quiver::bench {
namespace {

double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

BatchQueue::BatchQueue(const client::Endpoint& endpoint, const LoadOptions& options,
                       const dataset::Vectors& vectors, const std::vector<std::string>& payloads)
    : endpoint_(endpoint),
      options_(options),
      vectors_(vectors),
      payloads_(payloads),
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

RequestText BatchQueue::write_batch(std::size_t first, std::size_t end) {
  UpsertBody body(options_.vector_name);
  const std::size_t dim = vectors_.shape.dim;
  const std::span<const float> values(vectors_.batch.values);
  for (std::size_t i = first; i < end; ++i) {
    body.add(vectors_.batch.first_row + i, values.subspan(i * dim, dim),
             payloads_.empty() ? std::string_view() : payloads_[i]);
  }
  const std::string target = fmt::format(
      "/collections/{}/points?wait={}", client::escape_segment(options_.collection), options_.wait);
  return std::make_shared<const std::string>(
      client::request_text("PUT", target, endpoint_, options_.api_key, body.finish()));
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
  for (std::size_t i = 0; i < vectors_.n_rows(); i += options_.batch) {
    if (!push(write_batch(i, std::min(i + options_.batch, vectors_.n_rows())))) break;
  }
  {
    MutexLock lock(mutex_);
    written_ = true;
  }
  changed_.notify_all();
}

}  // namespace quiver::bench
