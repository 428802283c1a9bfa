#include "gpu/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/observe/log.h"

namespace quiver::gpu {
namespace {

/// A waiting thread looks for its cancellation this often.
constexpr std::uint32_t kWaitUs = 50;
/// One that waits for a lane looks for abandoned jobs this often.
constexpr std::chrono::microseconds kLaneWait(1000);

}  // namespace

Part::Part(std::shared_ptr<Device> device, qv_part* handle, const qv_part_shape& shape)
    : device_(std::move(device)), handle_(handle), shape_(shape), n_bytes_(bytes_of(shape)) {
  ++device_->n_parts_;
}

Part::~Part() {
  device_->resident_bytes_ -= n_bytes();
  --device_->n_parts_;
  if (!device_->is_lost()) device_->module_.api().part_free(handle_);
}

bool Part::put(std::uint64_t first, std::span<const std::byte> items) {
  return put_by(device_->module_.api().part_put, first, items, shape_.stride);
}

bool Part::put_facts(std::uint64_t first, std::span<const std::byte> facts) {
  const auto kind = static_cast<qv_part_kind>(shape_.kind);
  return put_by(device_->module_.api().part_put_facts, first, facts, fact_bytes(kind));
}

bool Part::put_by(Put function, std::uint64_t first, std::span<const std::byte> from,
                  std::uint64_t size) {
  if (device_->is_lost()) return false;
  const auto status = function(handle_, first, from.size() / size, from.data());
  if (device_->outcome_of(status, "part_put") != Device::Outcome::kDone) return false;
  device_->counts_.n_uploaded_bytes += from.size();
  return true;
}

std::uint64_t fact_bytes(qv_part_kind kind) {
  switch (kind) {
    case QV_ROWS:
      return sizeof(qv_row);
    case QV_DOCUMENTS:
      return sizeof(qv_document);
    case QV_LISTS:
    case QV_BYTES:
    case QV_RUNS:
      break;
  }
  return sizeof(std::uint32_t);
}

std::uint64_t bytes_of(const qv_part_shape& shape) {
  return shape.n_items * shape.stride +
         shape.n_facts * fact_bytes(static_cast<qv_part_kind>(shape.kind));
}

Lane::~Lane() {
  if (device_.is_lost()) return;
  const auto& api = device_.module_.api();
  if (memory_ != nullptr) api.unpin(device_.handle_, memory_);
  api.lane_free(handle_);
}

std::byte* Lane::memory(std::uint64_t n_bytes) {
  if (n_bytes > n_bytes_) {
    const auto& api = device_.module_.api();
    if (memory_ != nullptr) api.unpin(device_.handle_, memory_);
    // Jobs vary in size, and pinning takes long.
    const std::uint64_t rounded = std::bit_ceil(n_bytes);
    memory_ = api.pinned(device_.handle_, rounded);
    n_bytes_ = memory_ == nullptr ? 0 : rounded;
    // No memory has no status of its own: a lost device must not look like a full one.
    if (memory_ == nullptr) static_cast<void>(device_.outcome_of(api.wait(handle_, 0), "pinned"));
  }
  return static_cast<std::byte*>(memory_);
}

Device::Device(const Module& module, std::int32_t number, Limits limits, qv_device* handle)
    : module_(module), number_(number), limits_(limits), handle_(handle) {}

Result<std::shared_ptr<Device>> Device::open(const Module& module, std::int32_t number,
                                             Limits limits) {
  qv_device* handle = nullptr;
  if (module.api().open(number, &handle) != QV_DONE) {
    return fail(Code::kUnavailable,
                fmt::format("device {} cannot be opened: {}", number, module.api().last_error()));
  }
  std::shared_ptr<Device> device(new Device(module, number, limits, handle));
  qv_device_facts facts = {};
  facts.size = sizeof facts;
  module.api().facts(handle, &facts);
  device->name_ = facts.name;
  device->products_ = facts.products;
  const std::uint64_t usual = facts.free_bytes / 10 * 9;
  device->limits_.memory_bytes =
      limits.memory_bytes == 0 ? usual : std::min(limits.memory_bytes, usual);
  QV_TRY(device->make_lanes());
  return device;
}

Result<> Device::make_lanes() {
  MutexLock lock(mutex_);
  // Lanes move between these where nothing may be thrown.
  idle_.reserve(kLanes);
  draining_.reserve(kLanes);
  for (std::size_t i = 0; i < kLanes; ++i) {
    qv_lane* lane = nullptr;
    if (module_.api().lane_make(handle_, &lane) != QV_DONE) {
      return fail(Code::kUnavailable, fmt::format("device {} has no room for lanes: {}", number_,
                                                  module_.api().last_error()));
    }
    idle_.push_back(std::make_unique<Lane>(*this, lane));
  }
  return {};
}

Device::~Device() {
  MutexLock lock(mutex_);
  draining_.clear();
  idle_.clear();
  if (!is_lost()) module_.api().close(handle_);
}

void Device::drain() {
  const auto deadline = Deadline::after(limits_.job_time);
  std::vector<std::unique_ptr<Lane>> left;
  {
    MutexLock lock(mutex_);
    left.swap(draining_);
  }
  for (auto& lane : left) {
    auto outcome = Outcome::kBusy;
    while (outcome == Outcome::kBusy && !is_lost()) {
      outcome = outcome_of(module_.api().wait(lane->handle(), kWaitUs), "wait");
      if (deadline.has_passed()) lose("an abandoned job did not end");
    }
    put_back(std::move(lane));
  }
}

std::uint64_t Device::free_bytes() const {
  const std::uint64_t used = resident_bytes();
  return used >= limits_.memory_bytes ? 0 : limits_.memory_bytes - used;
}

void Device::lose(const std::string& why) {
  if (lost_.exchange(true)) return;
  log_error("device {} ({}) is lost, the CPU does its work until a restart: {}", number_, name_,
            why);
}

void Device::note_check(bool is_right) {
  constexpr std::uint64_t kMostDifferent = 3;
  ++counts_.n_checked;
  if (is_right) return;
  const std::uint64_t n = ++counts_.n_different;
  log_error("device {} ({}) did not name rows that are among the best of a query ({} of {} checks)",
            number_, name_, n, counts_.n_checked.load());
  if (n >= kMostDifferent) lose("it named wrong rows again and again");
}

Device::Outcome Device::outcome_of(qv_status status, const char* call) {
  if (status == QV_DONE) return Outcome::kDone;
  if (status == QV_BUSY) return Outcome::kBusy;
  if (status != QV_LOST) return Outcome::kNot;
  lose(fmt::format("{}: {}", call, module_.api().last_error()));
  return Outcome::kLost;
}

Device::MadePart Device::make_part(const qv_part_shape& shape) {
  const std::uint64_t n_bytes = bytes_of(shape);
  if (is_lost()) return {};
  bool is_refused = false;
  if (resident_bytes_.fetch_add(n_bytes) + n_bytes <= limits_.memory_bytes) {
    qv_part* handle = nullptr;
    const auto status = module_.api().part_make(handle_, &shape, &handle);
    if (outcome_of(status, "part_make") == Outcome::kDone) {
      return {std::make_shared<Part>(shared_from_this(), handle, shape)};
    }
    is_refused = status == QV_NOT;
  }
  resident_bytes_ -= n_bytes;
  return {nullptr, is_refused};
}

std::vector<std::shared_ptr<const Part>> Device::collect_drained() {
  std::vector<std::shared_ptr<const Part>> parts;
  for (auto& lane : draining_) {
    const auto outcome = outcome_of(module_.api().wait(lane->handle(), 0), "wait");
    if (outcome == Outcome::kBusy) continue;
    if (outcome == Outcome::kLost) break;
    parts.push_back(std::move(lane->reads));
    idle_.push_back(std::move(lane));
  }
  std::erase(draining_, nullptr);
  return parts;
}

std::unique_ptr<Lane> Device::take_lane(std::chrono::microseconds patience, const Cancel& cancel) {
  const auto deadline = Deadline::after(patience);
  std::vector<std::shared_ptr<const Part>> released;
  MutexLock lock(mutex_);
  while (!is_lost()) {
    // Abandoned jobs end unnoticed: somebody has to look.
    for (auto& part : collect_drained()) released.push_back(std::move(part));
    if (!idle_.empty()) {
      auto lane = std::move(idle_.back());
      idle_.pop_back();
      return lane;
    }
    if (deadline.has_passed() || cancel.poll()) break;
    lane_free_.wait_for(mutex_, std::min(patience, kLaneWait));
  }
  return nullptr;
}

void Device::put_back(std::unique_ptr<Lane> lane) {
  if (lane == nullptr) return;
  lane->reads = nullptr;
  MutexLock lock(mutex_);
  idle_.push_back(std::move(lane));
  lane_free_.notify_one();
}

/// Lets a lane whose job runs on wait for its end, however the caller leaves.
struct Device::Abandoned {
  Abandoned(Device& of, std::unique_ptr<Lane>& own, const Outcome& its_outcome)
      : device(of), lane(own), outcome(its_outcome) {}
  ~Abandoned() {
    if (outcome != Outcome::kBusy || lane == nullptr) return;
    MutexLock lock(device.mutex_);
    device.draining_.push_back(std::move(lane));
  }
  Abandoned(const Abandoned&) = delete;
  Abandoned& operator=(const Abandoned&) = delete;

  Device& device;
  std::unique_ptr<Lane>& lane;
  const Outcome& outcome;
};

Result<Device::Outcome> Device::run(std::unique_ptr<Lane>& lane, const Start& start,
                                    std::uint32_t n_queries, const Cancel& cancel) {
  const auto& api = module_.api();
  const auto begin = Deadline::Clock::now();
  auto outcome = outcome_of(start(api, *lane), "start");
  if (outcome == Outcome::kDone) outcome = Outcome::kBusy;
  // A job that nobody waits for any more, also because something was thrown, keeps its lane.
  const Abandoned abandoned(*this, lane, outcome);
  while (outcome == Outcome::kBusy) {
    outcome = outcome_of(api.wait(lane->handle(), kWaitUs), "wait");
    if (outcome != Outcome::kBusy) break;
    if (is_lost()) {
      outcome = Outcome::kLost;
    } else if (cancel.poll()) {
      return fail(cancel.check().error());
    } else if (Deadline::Clock::now() - begin > limits_.job_time) {
      lose(fmt::format("a job did not end within {} ms", limits_.job_time.count()));
      outcome = Outcome::kLost;
    }
  }
  const auto took = Deadline::Clock::now() - begin;
  counts_.busy_us += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  if (outcome == Outcome::kDone) {
    ++counts_.n_done;
    counts_.n_queries += n_queries;
  } else {
    ++counts_.n_failed;
  }
  return outcome;
}

}  // namespace quiver::gpu
