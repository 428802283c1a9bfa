#include "gpu/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "base/bits.h"
#include "base/observe/log.h"
#include "gpu/dense_job.h"
#include "gpu/document_job.h"
#include "gpu/emulated/emulated.h"
#include "gpu/job.h"
#include "gpu/list_job.h"
#include "gpu/product_job.h"
#include "gpu/sum_job.h"
#include "gpu/upload.h"

namespace quiver::gpu {
namespace {

constexpr int kLoaderNice = 5;
constexpr int kCheckerNice = 19;
/// A query that finds no room asks for some at most this often.
constexpr std::int64_t kEvictionIntervalMs = 200;
/// Rows of tens of gigabytes take some tens of seconds.
constexpr std::int64_t kMostWaitMs = 60'000;
/// A query waits for a lane as long as the CPU takes to read the rows at this rate, but not for
/// ever.
constexpr std::uint64_t kCpuBytesPerUs = 10'000;
constexpr std::int64_t kMaxPatienceUs = 2'000'000;

Result<std::vector<std::int32_t>> parse_numbers(std::string_view text) {
  std::vector<std::int32_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto part = text.substr(begin, end - begin);
    std::int32_t number = -1;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool is_number = error == std::errc() && rest == part.data() + part.size() && number >= 0;
    if (!is_number || std::ranges::find(numbers, number) != numbers.end()) {
      return fail(Code::kInvalidArgument,
                  fmt::format("gpu.devices is `{}`, must be auto, off or different numbers of "
                              "devices between commas",
                              text));
    }
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

std::int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::uint64_t stored_bytes(const DenseRows& rows) {
  return rows.view.n_rows * rows.view.stride_bytes;
}
std::uint64_t stored_bytes(const Documents& documents) {
  return documents.tokens.n_rows * documents.tokens.stride_bytes;
}

/// What the CPU reads to answer the queries. Rows in memory are read once for several.
std::uint64_t bytes_of_search(const DenseRows& rows, std::span<const DenseQuery> /*queries*/) {
  return stored_bytes(rows);
}
std::uint64_t bytes_of_search(const Documents& documents,
                              std::span<const DocumentQuery> /*queries*/) {
  return stored_bytes(documents);
}
std::uint64_t bytes_of_search(const CodeLists& lists, std::span<const ListQuery> queries) {
  std::uint64_t n_blocks = 0;
  for (const ListQuery& query : queries) n_blocks += ListJob::blocks_of(lists, query);
  return n_blocks * lists.blocks.block_bytes();
}
std::uint64_t bytes_of_search(const ByteCodes& codes, std::span<const ProductQuery> queries) {
  std::uint64_t n_rows = 0;
  for (const ProductQuery& query : queries) n_rows += query.rows.size();
  return n_rows * codes.stride;
}

std::uint64_t bytes_of_search(const ImpactRuns& /*runs*/, std::span<const SumQuery> queries) {
  std::uint64_t n_postings = 0;
  for (const SumQuery& query : queries) n_postings += query.n_postings;
  return n_postings * sizeof(std::uint16_t);
}

/// What the CPU reads in the time that it takes for the query. It compares each token with some
/// tens of the query.
std::uint64_t bytes_on_cpu(const DenseRows& rows, const DenseQuery& /*query*/) {
  return stored_bytes(rows);
}
std::uint64_t bytes_on_cpu(const Documents& documents, const DocumentQuery& /*query*/) {
  return 8 * stored_bytes(documents);
}
std::uint64_t bytes_on_cpu(const CodeLists& lists, const ListQuery& query) {
  return bytes_of_search(lists, std::span(&query, 1));
}
std::uint64_t bytes_on_cpu(const ByteCodes& codes, const ProductQuery& query) {
  return bytes_of_search(codes, std::span(&query, 1));
}

/// A posting takes it about a nanosecond.
std::uint64_t bytes_on_cpu(const ImpactRuns& /*runs*/, const SumQuery& query) {
  return query.n_postings * kCpuBytesPerUs / 1000;
}

std::size_t n_of(const DenseRows& rows) { return rows.view.n_rows; }
std::size_t n_of(const Documents& documents) { return documents.n(); }
std::size_t n_of(const CodeLists& lists) { return lists.blocks.n * CodeBlocks::kRows; }
std::size_t n_of(const ByteCodes& codes) { return codes.n_rows; }
std::size_t n_of(const ImpactRuns& runs) { return runs.n_rows; }

double allowed_share(const std::uint64_t* allowed, std::size_t n) {
  if (allowed == nullptr || n == 0) return 1;
  const std::span words(allowed, (n + 63) / 64);
  return static_cast<double>(count_bits(words)) / static_cast<double>(n);
}

/// Of each query the share of the rows that it allows. Masks are counted once.
template <class Query>
std::vector<double> shares_of(std::span<const Query> queries, std::size_t n_rows) {
  std::map<const std::uint64_t*, double> known;
  std::vector<double> shares;
  for (const Query& query : queries) {
    const auto [share, is_new] = known.try_emplace(mask_of(query), 1);
    if (is_new) share->second = allowed_share(share->first, n_rows);
    shares.push_back(share->second);
  }
  return shares;
}

/// A lane that goes back whatever is thrown; empty if its job runs on.
struct HeldLane {
  Device& device;
  std::unique_ptr<Lane> lane;

  HeldLane(Device& of, std::unique_ptr<Lane> taken) : device(of), lane(std::move(taken)) {}
  ~HeldLane() {
    if (lane != nullptr) device.put_back(std::move(lane));
  }
  HeldLane(const HeldLane&) = delete;
  HeldLane& operator=(const HeldLane&) = delete;
};

}  // namespace

struct Slot::Content {
  enum class State : std::uint8_t { kAbsent, kLoading, kPresent, kNoCodes };
  Mutex mutex;
  State state QV_GUARDED_BY(mutex) = State::kAbsent;
  std::shared_ptr<const Part> part QV_GUARDED_BY(mutex);  ///< kPresent only
  Placing placing_ QV_GUARDED_BY(mutex) = Placing::kAuto;
  std::atomic<std::int64_t> last_use_ms = 0;  ///< on the steady clock

  [[nodiscard]] bool is_present() QV_EXCLUDES(mutex) {
    MutexLock lock(mutex);
    return state == State::kPresent;
  }
  [[nodiscard]] bool is_loading() QV_EXCLUDES(mutex) {
    MutexLock lock(mutex);
    return state == State::kLoading;
  }
  [[nodiscard]] bool is_usable() QV_EXCLUDES(mutex) {
    MutexLock lock(mutex);
    return state == State::kPresent && !part->device().is_lost();
  }
  [[nodiscard]] std::shared_ptr<const Part> present_part() QV_EXCLUDES(mutex) {
    MutexLock lock(mutex);
    return part;
  }
  /// What was loaded for a field that no device may hold any more goes again.
  void set(State next, std::shared_ptr<const Part> filled) QV_EXCLUDES(mutex) {
    MutexLock lock(mutex);
    const bool is_unwanted = next == State::kPresent && placing_ == Placing::kNever;
    state = is_unwanted ? State::kAbsent : next;
    if (!is_unwanted) part.swap(filled);
  }
  [[nodiscard]] Placing placing() QV_EXCLUDES(mutex) {
    MutexLock lock(mutex);
    return placing_;
  }
  void place(Placing placing) QV_EXCLUDES(mutex) {
    std::shared_ptr<const Part> freed;  // without the lock
    MutexLock lock(mutex);
    placing_ = placing;
    if (placing != Placing::kNever || state != State::kPresent) return;
    state = State::kAbsent;
    freed.swap(part);
  }
  /// False if there is nothing, or nothing that gives way.
  [[nodiscard]] bool give_way() QV_EXCLUDES(mutex) {
    std::shared_ptr<const Part> freed;
    MutexLock lock(mutex);
    if (state != State::kPresent || placing_ == Placing::kAlways) return false;
    state = State::kAbsent;
    freed.swap(part);
    return true;
  }
};

Slot::Slot() = default;
Slot::~Slot() = default;

std::shared_ptr<Slot::Content> Slot::content() {
  MutexLock lock(mutex_);
  if (content_ == nullptr) content_ = std::make_shared<Content>();
  is_used_ = true;
  return content_;
}

bool Slot::is_on_device() const {
  if (!is_used_) return false;
  std::shared_ptr<Content> content;
  {
    MutexLock lock(mutex_);
    content = content_;
  }
  return content != nullptr && content->is_usable();
}

Result<std::unique_ptr<Devices>> Devices::open(const Options& options) {
  std::unique_ptr<Devices> devices(new Devices(options));
  const bool is_choice = options.devices == "auto" || options.devices == "off";
  const bool is_emulated = options.devices.starts_with("emulated");
  if (!is_choice && !is_emulated) QV_TRY(parse_numbers(options.devices));
  if (options.devices == "off") {
    devices->reason_ = "gpu.devices is off";
    return devices;
  }
  auto opened = devices->open_module();
  if (opened) opened = devices->open_devices();
  if (opened) {
    devices->loader_ = std::make_unique<Executor>(1, "gpu-load", kLoaderNice);
    devices->checker_ = std::make_unique<Executor>(1, "gpu-check", kCheckerNice);
    return devices;
  }
  devices->devices_.clear();
  if (options.devices != "auto") return fail(opened.error());
  devices->reason_ = opened.error().message();
  // Most servers have no module and need no line about it.
  if (!devices->module_path_.empty()) log_warning("no device is used: {}", devices->reason_);
  return devices;
}

Result<> Devices::open_module() {
  if (options_.devices.starts_with("emulated")) {
    QV_TRY(emulated::set_faults(options_.devices));
    module_path_ = "emulated";
    QV_TRY(module_, Module::of(emulated::api, module_path_));
    return {};
  }
  module_path_ = find_module(options_.module);
  if (module_path_.empty()) {
    return fail(Code::kFailedPrecondition,
                "there is no module for devices beside the server or in /usr/lib/quiver");
  }
  QV_TRY(module_, Module::load(module_path_));
  return {};
}

Result<> Devices::open_devices() {
  char why[256] = "";
  const std::int32_t n = module_->api().n_devices(why, sizeof why);
  if (n <= 0) return fail(Code::kFailedPrecondition, fmt::format("no device: {}", why));
  std::vector<std::int32_t> numbers;
  const bool are_named = options_.devices != "auto" && module_path_ != "emulated";
  if (!are_named) {
    for (std::int32_t i = 0; i < n; ++i) numbers.push_back(i);
  } else {
    QV_TRY(numbers, parse_numbers(options_.devices));
  }
  for (const std::int32_t number : numbers) {
    if (number >= n) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("gpu.devices names device {}, but there are {}", number, n));
    }
    auto device = Device::open(*module_, number, {options_.memory_bytes, options_.job_time});
    if (device) {
      log_info("device {} is {}, {} MiB for rows", number, (*device)->name(),
               (*device)->memory_bytes() >> 20);
      devices_.push_back(*std::move(device));
    } else if (are_named || (devices_.empty() && number == n - 1)) {
      return fail(device.error());
    } else {
      log_warning("{}: the others are used", device.error().message());
    }
  }
  return {};
}

Devices::~Devices() {
  stop_checking_.cancel();
  if (checker_ != nullptr) checker_->stop();
  if (loader_ != nullptr) loader_->stop();
  for (const auto& device : devices_) device->drain();
}

bool Devices::is_useful() const {
  return std::ranges::any_of(devices_, [](const auto& device) { return !device->is_lost(); });
}

bool Devices::has_lost_device() const {
  return std::ranges::any_of(devices_, [](const auto& device) { return device->is_lost(); });
}

/// Notes how loading ended, also by an exception.
struct Devices::Loading {
  std::shared_ptr<Slot::Content> content;
  std::atomic<std::size_t>& n_loading;
  Slot::Content::State end = Slot::Content::State::kAbsent;
  std::shared_ptr<const Part> part = nullptr;

  ~Loading() {
    content->set(end, std::move(part));
    --n_loading;
  }
};

bool Devices::has_room(std::uint64_t n_bytes) const {
  return std::ranges::any_of(devices_, [&](const auto& device) {
    return !device->is_lost() && device->free_bytes() >= n_bytes;
  });
}

struct Devices::Evictable {
  std::int64_t last_use_ms;  ///< as it was: searches go on
  std::shared_ptr<Slot::Content> content;
  const Device* device;
  std::uint64_t n_bytes;
};

/// What may give way to a newcomer, the longest unused first: rows that no search has wanted for
/// some time, but all rows to those that are placed by a setting.
std::vector<Devices::Evictable> Devices::evictable(Placing newcomer) const {
  const std::int64_t unused_since = now_ms() - options_.idle_time.count();
  std::vector<Evictable> all;
  for (const auto& loaded : loaded_) {
    auto content = loaded.lock();
    if (content == nullptr || content->placing() == Placing::kAlways) continue;
    const std::int64_t last_use_ms = content->last_use_ms;
    if (newcomer != Placing::kAlways && last_use_ms > unused_since) continue;
    const auto part = content->present_part();
    if (part == nullptr) continue;
    all.push_back({last_use_ms, std::move(content), &part->device(), part->n_bytes()});
  }
  std::ranges::sort(all, {}, &Evictable::last_use_ms);
  return all;
}

/// The device with the most room. If that is too little, rows give way where the least is missing,
/// but none where it would not be enough.
Device& Devices::device_for(std::uint64_t n_bytes, Placing newcomer) {
  const auto room_of = [](const auto& device) {
    return device->is_lost() ? 0 : device->free_bytes();
  };
  Device& largest = **std::ranges::max_element(devices_, {}, room_of);
  if (has_room(n_bytes)) return largest;
  const auto all = evictable(newcomer);
  std::map<const Device*, std::uint64_t> freed;
  for (const Evictable& one : all) freed[one.device] += one.n_bytes;
  Device* best = nullptr;
  for (const auto& device : devices_) {
    if (device->is_lost() || device->free_bytes() + freed[device.get()] < n_bytes) continue;
    if (best == nullptr || device->free_bytes() > best->free_bytes()) best = device.get();
  }
  if (best == nullptr) return largest;
  // What a job still reads is free when the job ends: no more than needed gives way meanwhile.
  std::uint64_t room = best->free_bytes();
  for (const Evictable& one : all) {
    if (room >= n_bytes) break;
    if (one.device != best || !one.content->give_way()) continue;
    room += one.n_bytes;
    ++n_evictions_;
  }
  return *best;
}

Device::MadePart Devices::make_part(const qv_part_shape& shape, Placing placing) {
  std::erase_if(loaded_, [](const auto& loaded) {
    const auto content = loaded.lock();
    return content == nullptr || !content->is_present();
  });
  return device_for(bytes_of(shape), placing).make_part(shape);
}

template <class Rows>
void Devices::load(Loading& loading, const Rows& rows) {
  const Placing placing = loading.content->placing();
  if (placing == Placing::kNever) return;
  auto [part, is_refused] = make_part(shape_of(rows), placing);
  if (is_refused) loading.end = Slot::Content::State::kNoCodes;
  if (part == nullptr) return;
  const Filled filled = fill(*part, rows);
  if (filled == Filled::kNoCodes) loading.end = Slot::Content::State::kNoCodes;
  if (filled != Filled::kDone) return;
  loaded_.push_back(loading.content);
  loading.content->last_use_ms = now_ms();
  loading.end = Slot::Content::State::kPresent;
  loading.part = std::move(part);
}

/// False if the loader has stopped.
template <class Rows>
bool Devices::post_load(const std::shared_ptr<Slot::Content>& content, const Rows& rows) {
  // Holds the rows, but not the searcher: a segment may go meanwhile.
  return loader_->post(Priority::kLow, [this, content, rows] {
    Loading loading{content, n_loading_};
    load(loading, rows);
  });
}

template <class Rows>
std::shared_ptr<const Part> Devices::part_for(Slot& slot, const Rows& rows, Fallback& why,
                                              bool is_placed) {
  using State = Slot::Content::State;
  // Every search comes here: none of them writes what others read.
  if (slot.min_bytes_ != options_.min_bytes) slot.min_bytes_ = options_.min_bytes;
  const auto content = slot.content();
  std::shared_ptr<const Part> lost;
  MutexLock lock(content->mutex);
  if (content->state == State::kPresent && content->part->device().is_lost()) {
    // Another device may take its place.
    lost.swap(content->part);
    content->state = State::kAbsent;
  }
  if (content->state == State::kPresent) {
    content->last_use_ms = now_ms();
    return content->part;
  }
  why = content->state == State::kNoCodes ? Fallback::kRows : Fallback::kLoading;
  // A search may have begun before the setting.
  if (content->state != State::kAbsent || content->placing_ == Placing::kNever) return nullptr;
  if (!has_room(most_bytes(rows))) {
    why = Fallback::kMemory;
    // The loader may make room, but need not be asked by each query.
    const std::int64_t now = now_ms();
    if (now < next_eviction_ms_ && !is_placed) return nullptr;
    next_eviction_ms_ = now + kEvictionIntervalMs;
  }
  // The loader needs the lock to note the end, so it cannot do so before the begin is noted.
  if (post_load(content, rows)) {
    content->state = State::kLoading;
    ++n_loading_;
  }
  return nullptr;
}

Result<RowLists> Devices::find_best(Slot& slot, const DenseRows& rows,
                                    std::span<const DenseQuery> queries, const Cancel& cancel,
                                    Executor* executor) {
  return find<DenseJob>(slot, rows, queries, cancel, executor);
}

Result<RowLists> Devices::find_best(Slot& slot, const Documents& documents,
                                    std::span<const DocumentQuery> queries, const Cancel& cancel,
                                    Executor* executor) {
  return find<DocumentJob>(slot, documents, queries, cancel, executor);
}

template <class Rows>
void Devices::want_part(Slot& slot, const Rows& rows) {
  if (!is_useful() || most_bytes(rows) < options_.min_bytes) return;
  Fallback why = Fallback::kLoading;
  static_cast<void>(part_for(slot, rows, why));
}

void Devices::want(Slot& slot, const DenseRows& rows) { want_part(slot, rows); }
void Devices::want(Slot& slot, const Documents& documents) { want_part(slot, documents); }
void Devices::want(Slot& slot, const CodeLists& lists) { want_part(slot, lists); }
void Devices::want(Slot& slot, const ByteCodes& codes) { want_part(slot, codes); }
void Devices::want(Slot& slot, const ImpactRuns& runs) { want_part(slot, runs); }

Result<> Devices::wait_for(Slot& slot, const Cancel& cancel) const {
  const auto content = slot.content();
  const std::int64_t give_up = now_ms() + kMostWaitMs;
  while (content->is_loading() && is_useful() && now_ms() < give_up) {
    QV_TRY(cancel.check());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

template <class Rows>
bool Devices::place_part(Slot& slot, const Rows& rows, Placing placing) {
  slot.content()->place(placing);
  if (placing != Placing::kAlways || !is_useful() || most_bytes(rows) < options_.min_bytes) {
    return true;
  }
  Fallback why = Fallback::kLoading;
  return part_for(slot, rows, why, true) != nullptr || why == Fallback::kRows;
}

bool Devices::place(Slot& slot, const DenseRows& rows, Placing placing) {
  return place_part(slot, rows, placing);
}
bool Devices::place(Slot& slot, const Documents& documents, Placing placing) {
  return place_part(slot, documents, placing);
}
bool Devices::place(Slot& slot, const CodeLists& lists, Placing placing) {
  return place_part(slot, lists, placing);
}
bool Devices::place(Slot& slot, const ByteCodes& codes, Placing placing) {
  return place_part(slot, codes, placing);
}
bool Devices::place(Slot& slot, const ImpactRuns& runs, Placing placing) {
  return place_part(slot, runs, placing);
}

Result<BestCodes> Devices::scan_lists(Slot& slot, const CodeLists& lists,
                                      std::span<const ListQuery> queries, const Cancel& cancel) {
  return find<ListJob>(slot, lists, queries, cancel, nullptr);
}

Result<Products> Devices::multiply(Slot& slot, const ByteCodes& codes,
                                   std::span<const ProductQuery> queries, const Cancel& cancel) {
  return find<ProductJob>(slot, codes, queries, cancel, nullptr);
}

Result<SummedRows> Devices::add_impacts(Slot& slot, const ImpactRuns& runs,
                                        std::span<const SumQuery> queries, const Cancel& cancel) {
  return find<SumJob>(slot, runs, queries, cancel, nullptr);
}

template <class Job>
Result<typename Job::Answers> Devices::find(Slot& slot, const typename Job::Rows& rows,
                                            std::span<const typename Job::Query> queries,
                                            const Cancel& cancel, Executor* executor) {
  typename Job::Answers answers(queries.size());
  const std::uint64_t n_bytes = bytes_of_search(rows, queries);
  if (n_bytes < options_.min_bytes) return answers;
  if (!is_useful()) {
    if (!devices_.empty()) count(Fallback::kLost, queries.size());
    return answers;
  }
  const auto shares = shares_of(queries, n_of(rows));
  std::vector<std::size_t> numbers;  // of queries that allow enough rows
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const double n_allowed_bytes = shares[i] * static_cast<double>(n_bytes);
    if (n_allowed_bytes >= static_cast<double>(options_.min_bytes)) numbers.push_back(i);
  }
  if (numbers.empty()) return answers;
  Fallback why = Fallback::kLoading;
  const auto part = part_for(slot, rows, why);
  if (part == nullptr) {
    count(why, numbers.size());
    return answers;
  }
  std::erase_if(numbers, [&](std::size_t i) {
    const bool wants_many = queries[i].k > kMaxHits;
    const bool is_left = wants_many || Job::is_too_large(rows, queries[i]);
    if (is_left) count(wants_many ? Fallback::kHits : Fallback::kWork, 1);
    return is_left;
  });
  std::ranges::stable_sort(numbers, std::less<>(),
                           [&](std::size_t i) { return mask_of(queries[i]); });
  for (std::span<const std::size_t> left = numbers; !left.empty();) {
    const std::size_t n_by_masks = n_within_masks(queries, left, n_of(rows));
    const std::size_t n_together = Job::n_together(rows, queries, left.first(n_by_masks));
    const auto group = left.first(std::min(n_together, n_by_masks));
    left = left.subspan(group.size());
    Job job(queries, group, rows, executor);
    double cpu_us = 0;
    for (const std::size_t i : group) {
      cpu_us += shares[i] * static_cast<double>(bytes_on_cpu(rows, queries[i])) /
                static_cast<double>(kCpuBytesPerUs);
    }
    const std::chrono::microseconds patience(
        std::min(static_cast<std::int64_t>(cpu_us), kMaxPatienceUs));
    QV_TRY(run(job, part, patience, cancel, answers));
  }
  return answers;
}

template <class Job>
Result<> Devices::run(Job& job, const std::shared_ptr<const Part>& part,
                      std::chrono::microseconds patience, const Cancel& cancel,
                      typename Job::Answers& answers) {
  Device& device = part->device();
  HeldLane held{device, device.take_lane(patience, cancel)};
  auto& lane = held.lane;
  if (lane == nullptr) {
    QV_TRY(cancel.check());
    count(device.is_lost() ? Fallback::kLost : Fallback::kBusy, job.n_asked());
    return {};
  }
  if (!job.write(*lane, *part)) {
    count(Fallback::kMemory, job.n_asked());
    return {};
  }
  count(Fallback::kQuery, job.n_asked() - job.n_queries());
  if (job.n_queries() > 0) {
    lane->reads = part;
    QV_TRY(const auto outcome,
           device.run(
               lane, [&job](const auto& api, const Lane& own) { return job.start(api, own); },
               job.n_queries(), cancel));
    if (outcome == Device::Outcome::kDone) {
      count(Fallback::kUncertain, job.n_queries() - job.read(answers));
    } else {
      count(outcome == Device::Outcome::kLost ? Fallback::kLost : Fallback::kNot, job.n_queries());
    }
  }
  return {};
}

std::optional<std::size_t> Devices::next_to_check(std::size_t n) {
  if (n == 0) return std::nullopt;
  const std::uint64_t job = n_checkable_.fetch_add(1);
  const auto n_due = [&](std::uint64_t n_jobs) {
    return std::floor(static_cast<double>(n_jobs) * options_.check_share);
  };
  if (is_checking_ || n_due(job) == n_due(job + 1)) return std::nullopt;
  return static_cast<std::size_t>(n_due(job)) % n;
}

/// A check that is under way, until it goes.
struct Devices::Checking {
  explicit Checking(std::atomic<bool>& flag) : is_checking(flag) {}
  ~Checking() { is_checking = false; }
  Checking(const Checking&) = delete;
  Checking& operator=(const Checking&) = delete;
  std::atomic<bool>& is_checking;
};

void Devices::post_check(Slot& slot, const Check& check) {
  const auto part = slot.content()->present_part();
  if (part == nullptr || is_checking_.exchange(true)) return;
  // Goes with the task, whether that runs, throws or is refused.
  const auto checking = std::make_shared<Checking>(is_checking_);
  static_cast<void>(checker_->post(
      Priority::kLow, [this, device = part->device().shared_from_this(), check, checking] {
        const auto is_right = check(stop_checking_);
        if (is_right) device->note_check(*is_right);
      }));
}

Report Devices::report() const {
  Report report;
  report.reason = reason_;
  report.module = module_path_;
  if (module_) report.build = module_->api().build;
  for (const auto& device : devices_) {
    const auto& counts = device->counts();
    report.devices.push_back({.number = device->number(),
                              .name = device->name(),
                              .is_lost = device->is_lost(),
                              .memory_bytes = device->memory_bytes(),
                              .resident_bytes = device->resident_bytes(),
                              .n_parts = device->n_parts(),
                              .n_done = counts.n_done,
                              .n_failed = counts.n_failed,
                              .n_queries = counts.n_queries,
                              .n_uploaded_bytes = counts.n_uploaded_bytes,
                              .busy_s = static_cast<double>(counts.busy_us) / 1e6,
                              .products = device->products(),
                              .n_checked = counts.n_checked,
                              .n_different = counts.n_different});
  }
  for (std::size_t i = 0; i < fallbacks_.size(); ++i) report.fallbacks[i] = fallbacks_[i];
  report.n_evictions = n_evictions_;
  return report;
}

void Devices::wait_for_loading() {
  while (n_loading_ > 0 || is_checking_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace quiver::gpu
