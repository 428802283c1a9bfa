#include "engine/collections/scrub.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"

namespace quiver::engine {
namespace {

/// Gives way to everything else.
constexpr int kNice = 15;
/// The thread sleeps when it is ahead of its rate by this much. At 8 MiB/s a sleep after each block
/// costs 0.44 % of a core, one after six blocks 0.17 % (pages in memory).
constexpr auto kMinSleep = std::chrono::milliseconds(200);

/// Damaged files are told once; they wait for their shard.
bool is_known_to_be_damaged(const CheckedFile& file) {
  const auto mapped = file.file.lock();
  return mapped != nullptr && mapped->is_damaged();
}

}  // namespace

void Scrub::start(std::string root, NameOf name_of) {
  root_ = std::move(root);
  name_of_ = std::move(name_of);
  observer_.emplace(root_, [this](const std::string& path) {
    if (path.empty()) {
      (void)request();
      return;
    }
    MutexLock lock(mutex_);
    ++status_.n_damages;
    written_.push_back(path);
    wake_.notify_all();
  });
  thread_.emplace(1, "scrub", kNice);
  thread_->post(Priority::kLow, [this] { run(); });
}

void Scrub::close() {
  observer_.reset();
  {
    MutexLock lock(mutex_);
    is_closed_ = true;
    wake_.notify_all();
  }
  thread_.reset();
}

std::uint64_t Scrub::request() {
  MutexLock lock(mutex_);
  n_wanted_ = status_.n_passes + (status_.is_running ? 2 : 1);
  wake_.notify_all();
  return n_wanted_;
}

ScrubStatus Scrub::status() const {
  MutexLock lock(mutex_);
  ScrubStatus status = status_;
  if (last_pass_end_) {
    status.last_pass_age_s = std::chrono::duration<double>(Clock::now() - *last_pass_end_).count();
  }
  return status;
}

void Scrub::run() {
  while (wait_for_pass()) {
    bool is_whole = false;
    run_logged("reading mapped files again", [&] { is_whole = pass(); });
    MutexLock lock(mutex_);
    status_.is_running = false;
    if (!is_whole) n_wanted_ = 0;  // out of memory, for example: the next pass tries again
  }
}

bool Scrub::wait_for_pass() {
  const bool is_periodic = options_.period_s > 0;
  const auto due = pass_began_ + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(options_.period_s));
  while (true) {
    tell_written();
    MutexLock lock(mutex_);
    if (is_closed_) return false;
    const auto now = Clock::now();
    if (n_wanted_ > status_.n_passes || (is_periodic && now >= due)) {
      status_.is_running = true;
      status_.n_pass_bytes = status_.n_pass_bytes_total = 0;
      return true;
    }
    if (!written_.empty()) continue;
    if (is_periodic) {
      wake_.wait_for(mutex_, due - now);
    } else {
      wake_.wait(mutex_);
    }
  }
}

bool Scrub::pass() {
  pass_began_ = paid_until_ = Clock::now();
  const auto all = files();
  std::uint64_t n_total = 0;
  for (const CheckedFile& file : all) n_total += file.n_bytes();
  {
    MutexLock lock(mutex_);
    status_.n_pass_bytes_total = n_total;
  }
  for (const CheckedFile& file : all) {
    tell_written();
    if (!check(file)) return false;
  }
  MutexLock lock(mutex_);
  ++status_.n_passes;
  status_.is_running = false;
  last_pass_end_ = Clock::now();
  return true;
}

std::vector<CheckedFile> Scrub::files() const {
  auto all = checked_files();
  std::erase_if(all, [this](const CheckedFile& file) { return !file.path.starts_with(root_); });
  std::sort(all.begin(), all.end(),
            [](const CheckedFile& a, const CheckedFile& b) { return a.path < b.path; });
  return all;
}

bool Scrub::check(const CheckedFile& file) {
  if (is_known_to_be_damaged(file)) return true;
  FileCheck check(file);
  while (true) {
    const auto n = check.step();
    if (!n) {
      if (!check.has_found()) return true;  // a query met it, or a write was noticed
      note_damage(file.path, n.error().message());
      MutexLock lock(mutex_);
      ++status_.n_damages;
      return true;
    }
    if (*n == 0) return true;
    if (!account(*n)) return false;
  }
}

void Scrub::note_damage(const std::string& path, std::string_view what) {
  log_error(
      "collection `{}`: a file is damaged while it is in use, and is made again from rows: {}",
      name_of_(path), what);
}

void Scrub::tell_written() {
  std::vector<std::string> paths;
  {
    MutexLock lock(mutex_);
    paths.swap(written_);
  }
  for (const std::string& path : paths) {
    run_logged("telling of a file that was written to",
               [&] { note_damage(path, fmt::format("`{}`: somebody wrote to it", path)); });
  }
}

bool Scrub::account(std::size_t n_bytes) {
  const std::chrono::duration<double> cost(static_cast<double>(n_bytes) /
                                           static_cast<double>(options_.bytes_per_s));
  paid_until_ += std::chrono::duration_cast<Clock::duration>(cost);
  MutexLock lock(mutex_);
  status_.n_pass_bytes += n_bytes;
  status_.n_bytes += n_bytes;
  auto now = Clock::now();
  paid_until_ = std::max(paid_until_, now - kMinSleep);  // a slow disk leaves no right to a burst
  if (paid_until_ - now < kMinSleep) return !is_closed_;
  while (!is_closed_ && now < paid_until_) {
    wake_.wait_for(mutex_, paid_until_ - now);
    now = Clock::now();
  }
  return !is_closed_;
}

}  // namespace quiver::engine
