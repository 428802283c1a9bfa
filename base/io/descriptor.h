// Ownership of a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace quiver {

/// Owns a file descriptor, or none if it was opened in vain (-1). Closes it when destroyed.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { (void)close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  /// Returns the result of close(2), or 0 if none is open. Never retried: the descriptor is gone
  /// even after EINTR.
  int close() { return fd_ < 0 ? 0 : ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

}  // namespace quiver
