#include "app/common/signals.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace quiver::app {
namespace {

// The signal handler may touch only these.
volatile std::sig_atomic_t first_signal = 0;
volatile std::sig_atomic_t wake_fd = -1;

extern "C" void on_stop_signal(int number) {
  if (first_signal != 0) _exit(128 + number);
  first_signal = number;
  const int saved = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_fd, &one, sizeof one);
  errno = saved;
}

}  // namespace

Result<> install_stop_signals() {
  wake_fd = eventfd(0, EFD_CLOEXEC);
  if (wake_fd < 0) {
    return fail(Code::kInternal, fmt::format("cannot create an eventfd: {}", std::strerror(errno)));
  }
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return {};
}

int wait_for_stop() {
  std::uint64_t count = 0;
  while (read(wake_fd, &count, sizeof count) < 0 && errno == EINTR) {
  }
  return first_signal;
}

int stop_signal() { return first_signal; }

}  // namespace quiver::app
