#include "base/io/write_watch.h"

#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/io/descriptor.h"
#include "base/io/mapped_region.h"
#include "base/mutex.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"

namespace quiver {

/// The watches of the process.
class WriteWatches {
 public:
  /// Never destroyed, because files may be closed after the end of `main`.
  static WriteWatches& of_process() {
    static auto& instance = *new WriteWatches;
    return instance;
  }

  /// Returns the kernel's number of the file, which other mappings of it share; -1: none.
  int add(const std::string& path, const void* address) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    read_queue();  // notes of ended watches must not fill it
    const int number = ::inotify_add_watch(queue_.get(), path.c_str(), IN_MODIFY | IN_ONESHOT);
    if (number < 0) {
      tell_once(queue_.is_open() ? errno : no_queue_);
      return -1;
    }
    try {
      files_[number].push_back({path, address});
    } catch (...) {
      forget(number);
      throw;
    }
    return number;
  }

  void remove(int number, const void* address) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto found = files_.find(number);
    if (found == files_.end()) return;
    std::erase_if(found->second, [&](const Mapping& each) { return each.address == address; });
    forget(number);
    read_queue();
  }

  void notice() QV_EXCLUDES(mutex_) {
    if (!queue_.is_open()) return;
    int n_bytes = 0;
    const bool is_empty = ::ioctl(queue_.get(), FIONREAD, &n_bytes) == 0 && n_bytes == 0;
    // Somebody who has just emptied the queue may still have to damage the files.
    if (is_empty && n_reading_.load() == 0) return;
    ++n_reading_;
    {
      MutexLock lock(mutex_);
      read_queue();
    }
    --n_reading_;
  }

  void add(const WriteObserver* observer) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    observers_.push_back(observer);
  }
  void remove(const WriteObserver* observer) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    std::erase(observers_, observer);
  }

 private:
  struct Mapping {
    std::string path;
    const void* address = nullptr;
  };

  WriteWatches() : queue_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), no_queue_(errno) {}

  void tell_once(int error_number) QV_REQUIRES(mutex_) {
    const bool is_gone = error_number == ENOENT;  // nobody can open it any more to write to it
    if (is_gone || std::exchange(has_told_, true)) return;
    log_warning("writes to files in use are noticed by the scrub only: inotify: {}",
                std::generic_category().message(error_number));
  }

  /// Ends the watch of a file without mappings. It has ended already if the file was written to or
  /// is gone.
  void forget(int number) QV_REQUIRES(mutex_) {
    const auto found = files_.find(number);
    if (found != files_.end() && !found->second.empty()) return;
    (void)::inotify_rm_watch(queue_.get(), number);
    if (found != files_.end()) files_.erase(found);
  }

  void read_queue() QV_REQUIRES(mutex_) {
    while (true) {
      alignas(inotify_event) std::array<char, 4096> notes{};
      const ssize_t n = ::read(queue_.get(), notes.data(), notes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      for (ssize_t at = 0; at < n;) {
        inotify_event note{};
        std::memcpy(&note, notes.data() + at, sizeof(note));
        at += static_cast<ssize_t>(sizeof(note) + note.len);
        take(note);
      }
    }
  }

  void take(const inotify_event& note) QV_REQUIRES(mutex_) {
    if ((note.mask & IN_Q_OVERFLOW) != 0) {
      for (const WriteObserver* observer : observers_) {
        run_logged("telling of lost notes", [&] { observer->told_({}); });
      }
    }
    const auto found = files_.find(note.wd);
    if ((note.mask & IN_MODIFY) == 0 || found == files_.end()) return;
    for (const Mapping& each : found->second) {
      if (!damage_region(each.address)) continue;
      tell(each.path);
    }
  }
  /// The next notes must be read in any case.
  void tell(const std::string& path) noexcept QV_REQUIRES(mutex_) {
    for (const WriteObserver* observer : observers_) {
      if (!path.starts_with(observer->root_)) continue;
      run_logged("telling that a file was written to", [&] { observer->told_(path); });
    }
  }

  const Descriptor queue_;
  const int no_queue_;  ///< why there is none
  std::atomic<int> n_reading_ = 0;
  Mutex mutex_;
  std::unordered_map<int, std::vector<Mapping>> files_ QV_GUARDED_BY(mutex_);
  std::vector<const WriteObserver*> observers_ QV_GUARDED_BY(mutex_);
  bool has_told_ QV_GUARDED_BY(mutex_) = false;
};

WriteWatch::WriteWatch(const std::string& path, const void* address)
    : address_(address), number_(WriteWatches::of_process().add(path, address)) {}

WriteWatch::~WriteWatch() {
  if (number_ >= 0) WriteWatches::of_process().remove(number_, address_);
}

void notice_writes() { WriteWatches::of_process().notice(); }

WriteObserver::WriteObserver(std::string root, std::function<void(const std::string& path)> told)
    : root_(std::move(root)), told_(std::move(told)) {
  WriteWatches::of_process().add(this);
}

WriteObserver::~WriteObserver() { WriteWatches::of_process().remove(this); }

}  // namespace quiver
