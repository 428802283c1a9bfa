// The scrub: one thread that reads the mapped files of a database again and again, slowly, and
// compares them with what they were when they were opened (base/io/checked_files.h). A file that
// differs is damaged from then on; its shard notices at the next tick and makes it again
// (engine/shard/damage.h). Files that somebody writes to are noticed without it
// (base/io/write_watch.h); it counts and tells them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/checked_files.h"
#include "base/io/write_watch.h"
#include "base/mutex.h"
#include "base/threads/executor.h"
#include "engine/model/scrub.h"

namespace quiver::engine {

/// Thread-safe; `start` and `close` are called once each, by one thread.
class Scrub {
 public:
  /// Says which collection has a file, for the log.
  using NameOf = std::function<std::string(std::string_view path)>;

  explicit Scrub(const ScrubOptions& options) : options_(options) {}
  ~Scrub() { close(); }
  Scrub(const Scrub&) = delete;
  Scrub& operator=(const Scrub&) = delete;

  /// Reads files with paths that begin with `root` from now on.
  void start(std::string root, NameOf name_of);
  /// Ends the running pass within a block. No pass begins afterwards.
  void close() QV_EXCLUDES(mutex_);

  /// Begins a pass now, or as soon as the running one has ended. Returns the number of passes after
  /// which it is done (`ScrubStatus::n_passes`).
  std::uint64_t request() QV_EXCLUDES(mutex_);
  [[nodiscard]] ScrubStatus status() const QV_EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;

  void run() QV_EXCLUDES(mutex_);
  /// Waits for the next pass, and tells meanwhile which files were written to. False: closed.
  bool wait_for_pass() QV_EXCLUDES(mutex_);
  /// False: closed before its end.
  bool pass() QV_EXCLUDES(mutex_);
  bool check(const CheckedFile& file) QV_EXCLUDES(mutex_);
  void note_damage(const std::string& path, std::string_view what) QV_EXCLUDES(mutex_);
  /// Logs the files that somebody wrote to; the damage is done.
  void tell_written() QV_EXCLUDES(mutex_);
  /// Counts bytes, and sleeps if they came faster than the rate allows. False: closed.
  bool account(std::size_t n_bytes) QV_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<CheckedFile> files() const;

  const ScrubOptions options_;
  std::string root_;
  NameOf name_of_;
  Clock::time_point pass_began_ = Clock::now();  ///< the scrub's thread only
  Clock::time_point paid_until_{};  ///< when the bytes so far are within the rate; the same thread

  mutable Mutex mutex_;
  CondVar wake_;
  bool is_closed_ QV_GUARDED_BY(mutex_) = false;
  std::uint64_t n_wanted_ QV_GUARDED_BY(mutex_) =
      0;                                      ///< passes asked for, as a value of `n_passes`
  ScrubStatus status_ QV_GUARDED_BY(mutex_);  ///< without the age
  std::optional<Clock::time_point> last_pass_end_ QV_GUARDED_BY(mutex_);
  std::vector<std::string> written_ QV_GUARDED_BY(mutex_);  ///< paths that are not told yet
  std::optional<WriteObserver> observer_;
  std::optional<Executor> thread_;
};

}  // namespace quiver::engine
