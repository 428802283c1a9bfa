// An etcd that is ours: started, watched, restarted when it dies, stopped with this process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/observe/log.h"
#include "base/result.h"
#include "cluster/ledger/child_process.h"
#include "cluster/ledger/etcd_membership.h"
#include "service/client/http.h"

namespace quiver::cluster {

/// A member of the etcd cluster, as the others reach it.
struct EtcdMember {
  std::string name;
  std::string host;
  std::uint16_t peer_port = 6337;
  std::uint16_t client_port = 6336;
};

struct EtcdProcessOptions {
  std::string binary = "etcd";  ///< a path, or a name to find in PATH
  std::filesystem::path data_dir;
  std::string name;                       ///< this member's, among `members`
  std::string listen_host = "127.0.0.1";  ///< an address of this machine
  // Not etcd's own 2379 and 2380: Debian's package starts a service there.
  std::uint16_t client_port = 6336;
  std::uint16_t peer_port = 6337;
  /// All members, this one too, in the same order everywhere. They must not change later.
  std::vector<EtcdMember> members = {};
  /// Distinguishes clusters: members with another token do not join.
  std::string cluster_token = "quiver";
  std::chrono::milliseconds stop_timeout = std::chrono::seconds(5);  ///< then it is killed
  /// Whether this member may found the ledger anew if no other member answers and it has no data.
  /// An error keeps it waiting. Called on another thread.
  std::function<Result<>()> may_found = [] { return Result<>(); };
  /// Takes one line of etcd's output; empty: the log of this process. Called on another thread.
  std::function<void(LogLevel, std::string_view)> log = {};
};

/// The command line of etcd for these options, without the binary. `state` has no effect once this
/// member has data.
[[nodiscard]] std::vector<std::string> etcd_flags(const EtcdProcessOptions& options,
                                                  etcd::InitialState state);

/// A line of etcd's output (JSON of zap, or any text) for our log. Its routine messages (info) are
/// details for us (debug).
struct EtcdLine {
  LogLevel level = LogLevel::kWarning;
  std::string text;
};
[[nodiscard]] EtcdLine read_etcd_line(std::string_view line);

/// Owns the child and the thread that watches it. A member whose data is lost is replaced by a new
/// one before it starts, with the consent of the others (`etcd::prepare_to_join`).
class EtcdProcess {
 public:
  /// Returns once etcd was started; it serves some time later (`Ledger::status` says when).
  /// kNotFound: no binary. kFailedPrecondition: its version is refused (`check_version`).
  /// kInvalidArgument: the options contradict each other. kUnavailable: the folder cannot be made.
  /// kResourceExhausted: too many files or processes.
  [[nodiscard]] static Result<std::unique_ptr<EtcdProcess>> start(EtcdProcessOptions options);
  ~EtcdProcess() { stop(); }
  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;

  /// Ends etcd: SIGTERM, after `stop_timeout` SIGKILL. Waits for its end.
  void stop();

  /// Where this member's clients connect, from this machine.
  [[nodiscard]] client::Endpoint endpoint() const;
  /// 0 while it is not running.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// How often etcd was started.
  [[nodiscard]] std::uint64_t n_starts() const { return n_starts_; }

 private:
  EtcdProcess(EtcdProcessOptions options, std::string binary, client::Socket stop_event);
  void watch();
  [[nodiscard]] std::string run_once();
  [[nodiscard]] Result<ChildProcess> start_child();
  [[nodiscard]] bool log_until_stop(const ChildProcess& child, std::string& output) const;
  void log_until_end(const ChildProcess& child, std::string& output) const;
  [[nodiscard]] bool wait_for_stop(std::chrono::milliseconds time) const;
  void log_lines(std::string& output) const;
  void log(LogLevel level, std::string_view text) const;

  const EtcdProcessOptions options_;
  const std::string binary_;
  const client::Socket stop_event_;  ///< readable once etcd shall end
  std::string last_ending_;          ///< of the watcher
  std::atomic<pid_t> pid_ = 0;
  std::atomic<std::uint64_t> n_starts_ = 0;
  std::thread watcher_;
};

}  // namespace quiver::cluster
