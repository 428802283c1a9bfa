// The registry is a list of slots that only grows; slots of unmapped regions are reused. The signal
// handler walks the list without a lock. A slot may be reused at any time, so it is read as under a
// sequence lock: `version` is odd while its bounds change. The region that faulted is stable,
// because the faulting thread keeps it mapped.

#include "base/io/mapped_region.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "base/mutex.h"

namespace quiver {

struct RegionSlot {
  std::atomic<std::uint32_t> version = 0;
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;  ///< end of the last whole page
  std::atomic<bool> is_damaged = false;
  RegionSlot* next = nullptr;       ///< next slot in the list; never changes once the slot is in it
  RegionSlot* next_free = nullptr;  ///< guarded by the registry's mutex
};

namespace {

std::atomic<RegionSlot*> slots = nullptr;
struct sigaction former {};

struct SlotRegistry {
  Mutex mutex;
  RegionSlot* free QV_GUARDED_BY(mutex) = nullptr;
};

/// Never destroyed, because files may be closed after the end of `main`.
SlotRegistry& slot_registry() {
  static auto& instance = *new SlotRegistry;
  return instance;
}

void set_bounds(RegionSlot& slot, std::uintptr_t begin, std::uintptr_t end) {
  slot.version.fetch_add(1, std::memory_order_acq_rel);
  slot.begin.store(begin, std::memory_order_release);
  slot.end.store(end, std::memory_order_release);
  slot.version.fetch_add(1, std::memory_order_release);
}

// In the signal handler: allocates nothing and takes no lock.

bool holds(const RegionSlot& slot, std::uintptr_t address) {
  const std::uint32_t before = slot.version.load(std::memory_order_acquire);
  const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
  const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
  const bool is_stable = before % 2 == 0 && slot.version.load(std::memory_order_acquire) == before;
  return is_stable && begin <= address && address < end;
}

RegionSlot* find(std::uintptr_t address) {
  for (RegionSlot* slot = slots.load(std::memory_order_acquire); slot != nullptr;
       slot = slot->next) {
    if (holds(*slot, address)) return slot;
  }
  return nullptr;
}

/// Replaces the whole region by zeros, after marking it as damaged. So every byte read after a zero
/// is zero too, and a thousand bad pages cause one fault.
bool put_zeros(RegionSlot& slot) {
  slot.is_damaged.store(true);
  const std::uintptr_t begin = slot.begin.load();
  const std::uintptr_t end = slot.end.load();
  // Not by mmap(), which ThreadSanitizer takes for a write that races with every reader.
  return ::syscall(SYS_mmap, begin, end - begin, PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0L) != -1;
}

void on_bus_error(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const int error_number = errno;
  const bool is_fault = info->si_code > 0;  // true for a real fault, false for kill(2)
  RegionSlot* slot = is_fault ? find(reinterpret_cast<std::uintptr_t>(info->si_addr)) : nullptr;
  if (slot == nullptr || !put_zeros(*slot)) {
    // Restores the former handler: a fault occurs again at the same instruction, and a sent signal
    // is sent again.
    ::sigaction(SIGBUS, &former, nullptr);
    if (!is_fault) ::raise(SIGBUS);
  }
  errno = error_number;
}

// Outside the handler:

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &former);
  });
}

/// Returns a slot that is in the list and not in use.
RegionSlot* take_slot() {
  SlotRegistry& all = slot_registry();
  MutexLock lock(all.mutex);
  if (all.free != nullptr) {
    RegionSlot* slot = all.free;
    all.free = slot->next_free;
    return slot;
  }
  auto* slot = new RegionSlot;
  slot->next = slots.load(std::memory_order_relaxed);
  slots.store(slot, std::memory_order_release);
  return slot;
}

void give_back(RegionSlot* slot) {
  SlotRegistry& all = slot_registry();
  MutexLock lock(all.mutex);
  slot->next_free = all.free;
  all.free = slot;
}

}  // namespace

std::size_t size_in_pages(std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

bool damage_region(const void* address) {
  RegionSlot* slot = find(reinterpret_cast<std::uintptr_t>(address));
  if (slot == nullptr || slot->is_damaged.exchange(true)) return false;
  (void)put_zeros(*slot);  // if this fails, the region is marked at least
  return true;
}

MappedRegion::MappedRegion(void* address, std::size_t size) {
  if (size == 0) return;
  install_handler();
  slot_ = take_slot();
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  set_bounds(*slot_, begin, begin + size_in_pages(size));
  choose_guard(static_cast<const std::byte*>(address), size);
}

void MappedRegion::choose_guard(const std::byte* bytes, std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t at = size - 1;
  while (at % page != 0 && bytes[at] == std::byte{}) --at;
  guard_ = bytes + at;
  guarded_ = bytes[at];
}

MappedRegion::~MappedRegion() {
  if (slot_ == nullptr) return;
  const std::uintptr_t begin = slot_->begin.load();
  const std::uintptr_t end = slot_->end.load();
  set_bounds(*slot_, 0, 0);  // before another mapping can get these addresses
  // NOLINTNEXTLINE(performance-no-int-to-ptr): as above.
  ::munmap(reinterpret_cast<void*>(begin), end - begin);
  slot_->is_damaged.store(false);
  give_back(slot_);
}

bool MappedRegion::is_damaged() const {
  // Orders the loads from the region before this load.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (slot_ == nullptr) return false;
  const bool is_cut = *guard_ != guarded_;  // a fault is noted in the slot instead
  return is_cut || slot_->is_damaged.load();
}

}  // namespace quiver
