// A program that runs as a child of this process, and whose output is read here.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/client/http.h"

namespace quiver::cluster {

/// The path of a program: `name` itself if it contains a slash, else the first one in PATH.
/// kNotFound: there is none that may be run.
[[nodiscard]] Result<std::string> find_program(const std::string& name);

/// A running program. Used on one thread.
///
/// The kernel kills the child when the *thread* that started it ends, so also when this process
/// dies. The child has a process group of its own: a Ctrl-C on the terminal does not reach it.
class ChildProcess {
 public:
  /// `arguments[0]` is the path. The child gets `environment`, no input, no other open files, and
  /// one pipe for both outputs. kResourceExhausted: no process or pipe could be made.
  [[nodiscard]] static Result<ChildProcess> start(const std::vector<std::string>& arguments,
                                                  const std::vector<std::string>& environment);
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  /// Kills it if it still runs.
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// To poll; readable too when the outputs are closed.
  [[nodiscard]] int output_fd() const { return output_.fd(); }
  /// Appends what the child has written. Waits if there is nothing. False: it closed its outputs.
  bool read_output(std::string& text) const;
  void send_signal(int signal) const;
  /// Kills the child and says how it had ended: "with status 1", "by signal 9".
  std::string end();

 private:
  ChildProcess(pid_t pid, client::Socket output) : pid_(pid), output_(std::move(output)) {}

  pid_t pid_;  ///< 0: it has ended
  client::Socket output_;
};

/// Runs a program to its end and returns its output. kDeadlineExceeded: it was killed then.
[[nodiscard]] Result<std::string> run_program(const std::vector<std::string>& arguments,
                                              const std::vector<std::string>& environment,
                                              std::chrono::milliseconds timeout);

}  // namespace quiver::cluster
