#include "cluster/ledger/etcd_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "cluster/ledger/child_process.h"
#include "cluster/ledger/etcd_ledger.h"
#include "payload/json/document.h"

namespace quiver::cluster {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kVersionTimeout{10000};
/// For all other members together. Adding a member takes one change of the ledger.
constexpr milliseconds kJoinTimeout{1500};
constexpr milliseconds kFirstBackoff{100};
constexpr milliseconds kMaxBackoff{5000};
/// After a longer run the first backoff applies again.
constexpr double kStableSeconds = 10;
constexpr std::string_view kNotBegun = "before it began";
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10;

std::string url(std::string_view host, std::uint16_t port) {
  const bool is_ipv6 = host.find(':') != host.npos;
  return fmt::format("http://{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
}

const EtcdMember* find_self(const EtcdProcessOptions& options) {
  const auto self = std::ranges::find(options.members, options.name, &EtcdMember::name);
  return self == options.members.end() ? nullptr : &*self;
}

std::vector<client::Endpoint> other_members(const EtcdProcessOptions& options) {
  std::vector<client::Endpoint> others;
  for (const EtcdMember& member : options.members) {
    if (member.name == options.name) continue;
    others.push_back({.host = member.host, .port = member.client_port});
  }
  return others;
}

Result<> check_options(const EtcdProcessOptions& options) {
  if (options.data_dir.empty()) return fail(Code::kInvalidArgument, "etcd has no data directory");
  const EtcdMember* self = find_self(options);
  if (self == nullptr) {
    return fail(Code::kInvalidArgument,
                fmt::format("\"{}\" is none of etcd's members", options.name));
  }
  if (self->peer_port == options.peer_port) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("etcd listens to peers on port {}, but the members know port {}",
                          options.peer_port, self->peer_port));
}

Result<> make_data_dir(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // etcd warns if others may read it.
  if (!error) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (!error) return {};
  return fail(Code::kUnavailable,
              fmt::format("cannot make {}: {}", folder.string(), error.message()));
}

/// Ours, without settings of etcd, which would mix with the flags. ARM needs the one that stays.
std::vector<std::string> environment() {
  std::vector<std::string> found;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("ETCD_") && !text.starts_with("ETCD_UNSUPPORTED_ARCH=")) continue;
    found.emplace_back(text);
  }
  return found;
}

/// The version that `etcd --version` prints.
Result<std::string> version_of(const std::string& binary) {
  QV_TRY(const std::string output,
         run_program({binary, "--version"}, environment(), kVersionTimeout));
  constexpr std::string_view kName = "etcd Version: ";
  const std::size_t at = output.find(kName);
  if (at == std::string::npos) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{} is no etcd: --version says \"{}\"", binary, output.substr(0, 200)));
  }
  const std::size_t begin = at + kName.size();
  return output.substr(begin, output.find('\n', begin) - begin);
}

LogLevel level_of(const payload::Value& line) {
  const payload::Value* member = line.find("level");
  const std::string* level = member == nullptr ? nullptr : member->as_string();
  if (level == nullptr || *level == "warn") return LogLevel::kWarning;
  return *level == "info" || *level == "debug" ? LogLevel::kDebug : LogLevel::kError;
}

}  // namespace

std::vector<std::string> etcd_flags(const EtcdProcessOptions& options, etcd::InitialState state) {
  const EtcdMember* self = find_self(options);
  const std::string& host = self == nullptr ? options.listen_host : self->host;
  std::string cluster;
  for (const EtcdMember& member : options.members) {
    cluster += fmt::format("{}{}={}", cluster.empty() ? "" : ",", member.name,
                           url(member.host, member.peer_port));
  }
  return {
      "--name=" + options.name,
      "--data-dir=" + options.data_dir.string(),
      "--listen-client-urls=" + url(options.listen_host, options.client_port),
      "--advertise-client-urls=" + url(host, options.client_port),
      "--listen-peer-urls=" + url(options.listen_host, options.peer_port),
      "--initial-advertise-peer-urls=" + url(host, options.peer_port),
      "--initial-cluster=" + cluster,
      "--initial-cluster-token=" + options.cluster_token,
      std::string("--initial-cluster-state=") +
          (state == etcd::InitialState::kNew ? "new" : "existing"),
      "--heartbeat-interval=100",
      "--election-timeout=1000",
      "--snapshot-count=10000",
      "--quota-backend-bytes=4294967296",
      "--auto-compaction-mode=revision",
      "--auto-compaction-retention=10000",
      "--logger=zap",
      "--log-outputs=stderr",
  };
}

EtcdLine read_etcd_line(std::string_view line) {
  const auto parsed = payload::parse_json(line);
  if (!parsed || parsed->as_object() == nullptr) {
    // gRPC inside etcd tells of every connection that it loses, also at each start and stop.
    const bool is_routine = line.starts_with("INFO: ") || line.starts_with("WARNING: ");
    return {.level = is_routine ? LogLevel::kDebug : LogLevel::kWarning,
            .text = fmt::format("etcd: {}", line)};
  }
  EtcdLine found{.level = level_of(*parsed), .text = "etcd:"};
  payload::Object details;
  for (const payload::Member& member : *parsed->as_object()) {
    if (member.key == "msg" && member.value.as_string() != nullptr) {
      found.text += " " + *member.value.as_string();
    } else if (member.key != "level" && member.key != "ts" && member.key != "caller" &&
               member.key != "stacktrace") {
      details.push_back(member);
    }
  }
  if (!details.empty()) found.text += " " + payload::to_json(payload::Value(std::move(details)));
  return found;
}

Result<std::unique_ptr<EtcdProcess>> EtcdProcess::start(EtcdProcessOptions options) {
  QV_TRY(check_options(options));
  const auto binary = find_program(options.binary);
  if (!binary) {
    return fail(Code::kNotFound,
                fmt::format("{}: install etcd-server, or name a ledger that runs by cluster.ledger",
                            binary.error().message()));
  }
  QV_TRY(const std::string version, version_of(*binary));
  QV_TRY(check_version(version));
  QV_TRY(make_data_dir(options.data_dir));
  client::Socket stop_event(eventfd(0, EFD_CLOEXEC));
  if (stop_event.fd() < 0) return fail(Code::kResourceExhausted, "too many files are open");
  return std::unique_ptr<EtcdProcess>(
      new EtcdProcess(std::move(options), *binary, std::move(stop_event)));
}

EtcdProcess::EtcdProcess(EtcdProcessOptions options, std::string binary, client::Socket stop_event)
    : options_(std::move(options)),
      binary_(std::move(binary)),
      stop_event_(std::move(stop_event)),
      watcher_([this] { watch(); }) {}

void EtcdProcess::stop() {
  if (!watcher_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(stop_event_.fd(), &one, sizeof one);
  watcher_.join();
}

client::Endpoint EtcdProcess::endpoint() const {
  const bool is_any = options_.listen_host == "0.0.0.0" || options_.listen_host == "::";
  return {.host = is_any ? "127.0.0.1" : options_.listen_host, .port = options_.client_port};
}

/// On the watcher's thread, which must live as long as the child (`ChildProcess`).
void EtcdProcess::watch() {
  milliseconds backoff = kFirstBackoff;
  for (;;) {
    const Stopwatch running;
    const std::string ending = run_once();
    if (wait_for_stop(milliseconds(0))) return;
    if (running.seconds() > kStableSeconds) backoff = kFirstBackoff;
    // Waiting for the others may take long.
    const bool is_told = ending.starts_with(kNotBegun) && ending == last_ending_;
    last_ending_ = ending;
    if (!is_told) {
      log(LogLevel::kError,
          fmt::format("etcd ended {}; it is started again in {} ms", ending, backoff.count()));
    }
    if (wait_for_stop(backoff)) return;
    backoff = std::min(backoff * 2, kMaxBackoff);
  }
}

/// Runs etcd until it ends or is stopped, and says how it ended.
std::string EtcdProcess::run_once() {
  auto child = start_child();
  if (!child) return fmt::format("{} ({})", kNotBegun, child.error().message());
  pid_ = child->pid();
  std::string output;
  if (log_until_stop(*child, output)) {
    child->send_signal(SIGTERM);
    log_until_end(*child, output);
  }
  pid_ = 0;
  return child->end();
}

/// A member with data knows by itself whether it founded its cluster or joined it.
Result<ChildProcess> EtcdProcess::start_child() {
  auto state = etcd::InitialState::kNew;
  if (!etcd::has_data(options_.data_dir)) {
    etcd::Gateway others(other_members(options_), kJoinTimeout);
    const EtcdMember& self = *find_self(options_);
    QV_TRY(state,
           etcd::prepare_to_join(others, url(self.host, self.peer_port), options_.may_found));
  }
  std::vector<std::string> command = etcd_flags(options_, state);
  command.insert(command.begin(), binary_);
  ++n_starts_;
  return ChildProcess::start(command, environment());
}

/// False: etcd ended before it was to be stopped.
bool EtcdProcess::log_until_stop(const ChildProcess& child, std::string& output) const {
  for (;;) {
    std::array<pollfd, 2> ready = {{{.fd = child.output_fd(), .events = POLLIN, .revents = 0},
                                    {.fd = stop_event_.fd(), .events = POLLIN, .revents = 0}}};
    poll(ready.data(), ready.size(), -1);
    if (ready[1].revents != 0) return true;
    if (ready[0].revents == 0) continue;
    if (!child.read_output(output)) return false;
    log_lines(output);
  }
}

/// Returns when etcd has ended, or does not within `stop_timeout`.
void EtcdProcess::log_until_end(const ChildProcess& child, std::string& output) const {
  const auto end = std::chrono::steady_clock::now() + options_.stop_timeout;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready{.fd = child.output_fd(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) == 0) return;
    if (ready.revents != 0 && !child.read_output(output)) return;
    log_lines(output);
  }
}

bool EtcdProcess::wait_for_stop(milliseconds time) const {
  pollfd ready{.fd = stop_event_.fd(), .events = POLLIN, .revents = 0};
  return poll(&ready, 1, static_cast<int>(time.count())) > 0;
}

/// Takes whole lines out of `output`.
void EtcdProcess::log_lines(std::string& output) const {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = output.find('\n', begin)) != output.npos; begin = end + 1) {
    const EtcdLine line = read_etcd_line(std::string_view(output).substr(begin, end - begin));
    log(line.level, line.text);
  }
  output.erase(0, begin);
  if (output.size() > kMaxLineBytes) output.clear();
}

void EtcdProcess::log(LogLevel level, std::string_view text) const {
  if (options_.log) {
    options_.log(level, text);
  } else {
    quiver::log(level, text);
  }
}

}  // namespace quiver::cluster
