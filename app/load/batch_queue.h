// Bodies written ahead by one thread, so that the loop that measures never waits for them (or it
// shows that it did).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "app/load/load.h"
#include "app/load/loop.h"
#include "base/mutex.h"
#include "dataset/vectors.h"

namespace quiver::app {

class BatchQueue final : public RequestSource {
 public:
  /// Starts the writing thread; with `options.queue` of 0 it returns when all are written. The
  /// arguments outlive it. `payloads` is empty or has a line for each row of `vectors`.
  BatchQueue(const Endpoint& endpoint, const LoadOptions& options, const dataset::Vectors& vectors,
             const std::vector<std::string>& payloads);
  ~BatchQueue() override;
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  State next(RequestText& request) override QV_EXCLUDES(mutex_);

  /// So far: CPU seconds of the writing thread, and bytes of requests taken.
  [[nodiscard]] double writer_cpu_s() const QV_EXCLUDES(mutex_);
  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  void write_all() QV_EXCLUDES(mutex_);
  [[nodiscard]] RequestText write_batch(std::size_t first, std::size_t end);
  /// False when nobody wants it any more.
  bool push(RequestText request) QV_EXCLUDES(mutex_);

  const Endpoint& endpoint_;
  const LoadOptions& options_;
  const dataset::Vectors& vectors_;
  const std::vector<std::string>& payloads_;
  std::uint64_t sent_bytes_ = 0;  ///< of the reading thread

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<RequestText> ready_ QV_GUARDED_BY(mutex_);
  double writer_cpu_s_ QV_GUARDED_BY(mutex_) = 0;
  bool written_ QV_GUARDED_BY(mutex_) = false;    ///< no more will come
  bool abandoned_ QV_GUARDED_BY(mutex_) = false;  ///< no more are wanted
  std::thread writer_;
};

}  // namespace quiver::app
