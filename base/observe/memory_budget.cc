#include "base/observe/memory_budget.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/observe/machine.h"
#include "base/observe/memory.h"

namespace quiver {
namespace {

/// Reading takes 2 us.
constexpr auto kMaxReadingAge = std::chrono::milliseconds(5);
/// Free memory is returned to the system at most this often; it takes milliseconds.
constexpr auto kGiveBackPeriod = std::chrono::milliseconds(500);

/// Kept free of a limit for what nobody asks for: seals, what a body becomes when it is read,
/// memory that is free in pieces. An eighth, but of small limits up to a quarter: a server with
/// 128 MiB exceeded seven eighths by 40.
std::uint64_t reserve_of(std::uint64_t limit) {
  constexpr std::uint64_t kUsualReserve = 64 << 20;
  return std::max(limit / 8, std::min(limit / 4, kUsualReserve));
}

std::string megabytes(std::uint64_t n_bytes) {
  constexpr double kMiB = 1 << 20;
  return fmt::format("{:.1f} MiB", static_cast<double>(n_bytes) / kMiB);
}

}  // namespace

std::uint64_t private_memory_bytes() {
  static const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  static const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::array<char, 256> text{};
  if (file < 0 || ::pread(file, text.data(), text.size() - 1, 0) <= 0) return 0;
  unsigned long long n_virtual = 0;
  unsigned long long n_resident = 0;
  unsigned long long n_of_files = 0;
  if (std::sscanf(text.data(), "%llu %llu %llu", &n_virtual, &n_resident, &n_of_files) != 3) {
    return 0;
  }
  return n_resident < n_of_files ? 0 : (n_resident - n_of_files) * page_bytes;
}

std::uint64_t usual_memory_limit() {
  const std::uint64_t allowed = read_machine().ram_bytes;
  return allowed - allowed / 5;
}

MemoryPromise::~MemoryPromise() {
  if (budget_ != nullptr) budget_->take_back(n_bytes_);
}

MemoryBudget::MemoryBudget(std::function<std::uint64_t()> read, std::function<void()> give_back)
    : read_(std::move(read)),
      give_back_(give_back ? std::move(give_back) : [] { return_free_memory(); }) {}

void MemoryBudget::set_limit(std::uint64_t n_bytes) {
  MutexLock lock(mutex_);
  limit_ = n_bytes;
  read_at_ = {};
}

MemoryBudget::State MemoryBudget::state() {
  MutexLock lock(mutex_);
  read(Clock::now());
  return {limit_, private_, promised_, n_refused_};
}

Result<> MemoryBudget::check(std::uint64_t n_bytes, std::string_view what) {
  if (limit_.load(std::memory_order_relaxed) == 0) return {};
  auto granted = grant(n_bytes, what, &MemoryBudget::granted_);
  if (granted) return granted;
  MutexLock lock(mutex_);
  ++n_refused_;
  return granted;
}

Result<MemoryPromise> MemoryBudget::promise(std::uint64_t n_bytes, std::string_view what) {
  if (limit_.load(std::memory_order_relaxed) == 0) return MemoryPromise();
  QV_TRY(grant(n_bytes, what, &MemoryBudget::promised_));
  return MemoryPromise(*this, n_bytes);
}

Result<> MemoryBudget::grant(std::uint64_t n_bytes, std::string_view what,
                             std::uint64_t MemoryBudget::*counter) {
  {
    MutexLock lock(mutex_);
    const auto now = Clock::now();
    if (now - read_at_ > kMaxReadingAge) read(now);
    if (has_room(n_bytes)) {
      this->*counter += n_bytes;
      return {};
    }
    if (!may_give_back(now)) {
      return fail(refusal(n_bytes, what));
    }
  }
  give_back_();  // not under the lock: it takes milliseconds
  MutexLock lock(mutex_);
  private_ = read_();  // what was granted a moment ago may not be taken yet: it still counts
  if (has_room(n_bytes)) {
    this->*counter += n_bytes;
    return {};
  }
  return fail(refusal(n_bytes, what));
}

bool MemoryBudget::has_room(std::uint64_t n_bytes) {
  const std::uint64_t limit = limit_;
  const std::uint64_t allowed = limit - reserve_of(limit);
  return limit == 0 || (n_bytes <= allowed && used() <= allowed - n_bytes);
}

void MemoryBudget::read(Clock::time_point now) {
  private_ = read_();
  granted_ = 0;
  read_at_ = now;
}

std::uint64_t MemoryBudget::used() const { return private_ + granted_ + promised_; }

bool MemoryBudget::may_give_back(Clock::time_point now) {
  if (now - gave_back_at_ < kGiveBackPeriod) return false;
  gave_back_at_ = now;
  return true;
}

Error MemoryBudget::refusal(std::uint64_t n_bytes, std::string_view what) const {
  const std::uint64_t limit = limit_;
  const std::string promised =
      promised_ == 0 ? ""
                     : fmt::format(" and {} are promised to running jobs", megabytes(promised_));
  std::string text = fmt::format(
      "no memory for {}: {} are wanted, {} are in use{}, and `memory.limit_mb` is {}, {} of "
      "which are kept free",
      what, megabytes(n_bytes), megabytes(private_ + granted_), promised, megabytes(limit),
      megabytes(reserve_of(limit)));
  const std::uint64_t held = private_ + granted_;
  const std::uint64_t allowed = limit - reserve_of(limit);
  const bool jobs_are_in_the_way = n_bytes <= allowed && held <= allowed - n_bytes;
  if (jobs_are_in_the_way) return Error(Code::kUnavailable, text + "; try again later");
  return Error(Code::kResourceExhausted, Subject::kMemory, {}, std::move(text));
}

void MemoryBudget::take_back(std::uint64_t n_bytes) noexcept {
  MutexLock lock(mutex_);
  promised_ -= n_bytes;
}

MemoryBudget& process_memory() {
  static auto& budget = *new MemoryBudget;  // jobs may end after `main`
  return budget;
}

}  // namespace quiver
