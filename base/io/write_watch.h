// Writes to mapped files that nobody may write to, noticed by inotify(7).
//
// A file of a segment does not change after it was opened. If somebody writes to it or cuts it
// short, the kernel queues a note before that call returns. `notice_writes` reads the queue and
// damages the files (base/io/mapped_region.h). So whoever reads a file, calls it, and then asks
// `MappedFile::is_damaged` never answers from bytes of a write that ended before.
//
// Not seen: writes through a mapping, writes by another machine to a shared file system, and bytes
// that change in memory or on the disk; see base/io/checked_files.h for these.
#pragma once

#include <functional>
#include <string>

namespace quiver {

/// Watches the file at `path`, which is mapped at `address`, until the end of this object. If the
/// system allows no more watches, it watches nothing, and the log says so once.
class WriteWatch {
 public:
  WriteWatch(const std::string& path, const void* address);
  ~WriteWatch();
  WriteWatch(const WriteWatch&) = delete;
  WriteWatch& operator=(const WriteWatch&) = delete;

 private:
  const void* address_;
  int number_;  ///< of the kernel; -1: none
};

/// Damages the mapped files that were written to since they are watched. Any thread; about .1 us if
/// there are none.
void notice_writes();

/// Is told the path of each file below `root` that `notice_writes` damages, once a mapping; an
/// empty one if notes were lost: somebody wrote to more files at once than the system queues
/// (16,384).
class WriteObserver {
 public:
  /// `told` runs in any thread and must neither wait nor open or close files.
  WriteObserver(std::string root, std::function<void(const std::string& path)> told);
  ~WriteObserver();
  WriteObserver(const WriteObserver&) = delete;
  WriteObserver& operator=(const WriteObserver&) = delete;

 private:
  friend class WriteWatches;

  const std::string root_;
  const std::function<void(const std::string& path)> told_;
};

}  // namespace quiver
