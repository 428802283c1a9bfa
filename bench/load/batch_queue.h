// Writes upsert requests ahead on a thread of its own, so that the measuring loop need not wait for
// them. If it does wait, `LoopResult::n_starved` shows it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "bench/load/load.h"
#include "bench/load/loop.h"
#include "dataset/vectors.h"

namespace quiver::bench {

class BatchQueue final : public RequestSource {
 public:
  /// Starts the writing thread; if `options.queue` is 0, waits until all requests are written. The
  /// arguments outlive the queue. `payloads` is empty or has one line per row of `vectors`.
  BatchQueue(const client::Endpoint& endpoint, const LoadOptions& options,
             const dataset::Vectors& vectors, const std::vector<std::string>& payloads);
  ~BatchQueue() override;
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  State next(RequestText& request) override QV_EXCLUDES(mutex_);

  /// CPU time of the writing thread so far.
  [[nodiscard]] double writer_cpu_s() const QV_EXCLUDES(mutex_);
  /// Bytes of the requests taken so far.
  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  void write_all() QV_EXCLUDES(mutex_);
  [[nodiscard]] RequestText write_batch(std::size_t first, std::size_t end);
  /// False once the queue is abandoned.
  bool push(RequestText request) QV_EXCLUDES(mutex_);

  const client::Endpoint& endpoint_;
  const LoadOptions& options_;
  const dataset::Vectors& vectors_;
  const std::vector<std::string>& payloads_;
  std::uint64_t sent_bytes_ = 0;  ///< used by the reading thread only

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<RequestText> ready_ QV_GUARDED_BY(mutex_);
  double writer_cpu_s_ QV_GUARDED_BY(mutex_) = 0;
  bool written_ QV_GUARDED_BY(mutex_) = false;    ///< the last request is queued
  bool abandoned_ QV_GUARDED_BY(mutex_) = false;  ///< the reader is gone
  std::thread writer_;
};

}  // namespace quiver::bench
