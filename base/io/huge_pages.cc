#include "base/io/huge_pages.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/io/mapped_region.h"
#include "base/observe/held_memory.h"
#include "base/observe/log.h"

namespace quiver {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
/// Smaller files fit into caches, and the TLB knows most of their pages.
constexpr std::size_t kLeastCopied = 4 * kHugePage;

/// What the system gives to those who ask for it.
bool has_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string modes{std::istreambuf_iterator<char>(file), {}};
  return modes.find("[always]") != std::string::npos ||
         modes.find("[madvise]") != std::string::npos;
}

/// Anonymous memory whose address has the same place in its huge page as `like`, so that it can be
/// moved there as huge pages. nullptr if there is none.
void* new_memory(std::size_t size, void* like) {
  const std::size_t reserved = size + kHugePage;
  void* const begin =
      ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  const auto place = [](void* at) { return reinterpret_cast<std::uintptr_t>(at) % kHugePage; };
  const std::size_t before = (place(like) + kHugePage - place(begin)) % kHugePage;
  auto* const memory = static_cast<std::byte*>(begin) + before;
  if (before != 0) (void)::munmap(begin, before);
  if (const std::size_t after = kHugePage - before; after != 0)
    (void)::munmap(memory + size, after);
  (void)::madvise(memory, size, MADV_HUGEPAGE);
  (void)::madvise(memory, size, MADV_DONTDUMP);
  return memory;
}

bool move_to(void* from, std::size_t size, void* to) {
  return ::mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
}

/// Moves the file to where it was. A move that fails may have unmapped its target: then the region
/// becomes zeros and counts as damaged, which is told and repaired.
bool put_back(void* file, std::size_t size, void* address) {
  if (move_to(file, size, address) || move_to(file, size, address)) return true;
  damage_region(address);
  return false;
}

/// All copies there are.
struct Copies {
  Mutex mutex;
  std::vector<std::weak_ptr<HugePageCopy>> all QV_GUARDED_BY(mutex);
};

/// Never destroyed, because files may be closed after the end of `main`.
Copies& copies() {
  static auto& instance = *new Copies;
  return instance;
}

void remember(const std::shared_ptr<HugePageCopy>& copy) {
  MutexLock lock(copies().mutex);
  std::erase_if(copies().all, [](const auto& known) { return known.expired(); });
  copies().all.push_back(copy);
}

}  // namespace

std::shared_ptr<HugePageCopy> HugePageCopy::put(void* address, std::size_t size) {
  static const bool is_possible = has_huge_pages();
  const std::size_t n = size_in_pages(size);
  if (!is_possible || n < kLeastCopied || !held_memory().take(n)) return nullptr;
  // A length of 0 maps the same pages once more.
  void* const file = ::mremap(address, 0, n, MREMAP_MAYMOVE);
  void* const copy = file == MAP_FAILED ? nullptr : new_memory(n, address);
  if (copy != nullptr) {
    std::memcpy(copy, address, size);
    (void)::mprotect(copy, n, PROT_READ);
    if (move_to(copy, n, address)) {
      (void)::madvise(file, n, MADV_COLD);
      const std::shared_ptr<HugePageCopy> put(new HugePageCopy(address, n, file));
      remember(put);
      return put;
    }
    (void)::munmap(copy, n);
  }
  const bool is_there = copy != nullptr && put_back(file, n, address);
  if (!is_there && file != MAP_FAILED) (void)::munmap(file, n);
  held_memory().give_back(n);
  return nullptr;
}

HugePageCopy::~HugePageCopy() { forget(); }

Result<> HugePageCopy::end() {
  MutexLock lock(mutex_);
  if (file_ == nullptr) return {};
  if (!put_back(file_, size_, address_)) {
    return fail(Code::kResourceExhausted,
                fmt::format("a copy of {} bytes in huge pages cannot be given back: {}", size_,
                            std::strerror(errno)));
  }
  file_ = nullptr;
  held_memory().give_back(size_);
  return {};
}

void HugePageCopy::keep() {
  MutexLock lock(mutex_);
  is_kept_ = true;
}

void HugePageCopy::forget() {
  MutexLock lock(mutex_);
  if (file_ == nullptr) return;
  (void)::munmap(file_, size_);
  file_ = nullptr;
  held_memory().give_back(size_);
}

bool HugePageCopy::is_kept() {
  MutexLock lock(mutex_);
  return is_kept_;
}

void end_huge_page_copies() {
  std::vector<std::weak_ptr<HugePageCopy>> all;
  {
    MutexLock lock(copies().mutex);
    all = copies().all;
  }
  for (const auto& known : all) {
    const auto copy = known.lock();
    if (copy == nullptr || copy->is_kept()) continue;
    if (const auto ended = copy->end(); !ended) log_warning("{}", ended.error().message());
  }
}

void end_huge_page_copies_if_short() {
  if (!held_memory().is_short()) return;
  log_info("memory is short: {} bytes of copies of indexes in huge pages are given up",
           held_memory().n_bytes());
  end_huge_page_copies();
}

}  // namespace quiver
