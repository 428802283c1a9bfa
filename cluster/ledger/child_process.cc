#include "cluster/ledger/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace quiver::cluster {
namespace {

constexpr int kCannotRun = 127;  // as shells say it

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (const std::string& text : texts) found.push_back(const_cast<char*>(text.c_str()));
  found.push_back(nullptr);
  return found;
}

/// In the child. Between fork and exec only functions that are safe in a signal handler may run.
[[noreturn]] void become(char* const* arguments, char* const* environment, int output,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotRun);  // it died before the line above
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  execve(arguments[0], arguments, environment);
  constexpr std::string_view kText = "the program cannot be run\n";
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, kText.data(), kText.size());
  _exit(kCannotRun);
}

tl::unexpected<Error> no_child(std::string_view what) {
  return fail(Code::kResourceExhausted, fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  const auto may_run = [](const std::string& path) { return access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) {
    if (may_run(name)) return name;
    return fail(Code::kNotFound, fmt::format("{} is no program that may be run", name));
  }
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "" : variable;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    std::string path = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && may_run(path)) return path;
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
  }
  return fail(Code::kNotFound, fmt::format("{} was not found in PATH", name));
}

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments,
                                         const std::vector<std::string>& environment) {
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> environment_pointers = pointers(environment);
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return no_child("cannot make a pipe");
  client::Socket output(ends[0]);
  const client::Socket input(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return no_child("cannot start a process");
  if (pid == 0) {
    become(argument_pointers.data(), environment_pointers.data(), input.fd(), parent);
  }
  return ChildProcess(pid, std::move(output));
}

ChildProcess::~ChildProcess() {
  if (pid_ != 0) end();
}

bool ChildProcess::read_output(std::string& text) const {
  std::array<char, 4096> piece;
  ssize_t n = 0;
  do {
    n = read(output_.fd(), piece.data(), piece.size());
  } while (n < 0 && errno == EINTR);
  if (n > 0) text.append(piece.data(), static_cast<std::size_t>(n));
  return n > 0;
}

void ChildProcess::send_signal(int signal) const {
  if (pid_ != 0) kill(pid_, signal);
}

std::string ChildProcess::end() {
  send_signal(SIGKILL);  // no effect if it has ended, which is not known before it is waited for
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFSIGNALED(status) ? fmt::format("by signal {}", WTERMSIG(status))
                             : fmt::format("with status {}", WEXITSTATUS(status));
}

Result<std::string> run_program(const std::vector<std::string>& arguments,
                                const std::vector<std::string>& environment,
                                std::chrono::milliseconds timeout) {
  QV_TRY(ChildProcess child, ChildProcess::start(arguments, environment));
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::string output;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd ready{.fd = child.output_fd(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) == 0) {
      return fail(Code::kDeadlineExceeded,
                  fmt::format("{} does not end within {} ms", arguments[0], timeout.count()));
    }
    if (ready.revents != 0 && !child.read_output(output)) return output;
  }
}

}  // namespace quiver::cluster
