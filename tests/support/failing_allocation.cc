#include "tests/support/failing_allocation.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace quiver::testing_support {
namespace {

thread_local int n_before_failures = 0;
thread_local int n_failures = 0;
thread_local bool is_spared = false;

FailingAllocations wanted;  // written while `is_failing` is false
std::atomic<bool> is_failing = false;
std::atomic<std::uint64_t> n_counted = 0;
std::atomic<std::uint64_t> n_failed = 0;

bool is_wanted_thread() {
  std::array<char, 16> name{};
  if (is_spared || pthread_getname_np(pthread_self(), name.data(), name.size()) != 0) return false;
  return std::strncmp(name.data(), wanted.thread, std::strlen(wanted.thread)) == 0;
}

bool fails_in_process(std::size_t size) {
  if (!is_failing || size < wanted.min_bytes || !is_wanted_thread()) return false;
  const std::uint64_t number = ++n_counted;
  if (number < wanted.first) return false;
  const std::uint64_t after = number - wanted.first;
  if (after != 0 && (wanted.every == 0 || after % wanted.every != 0)) return false;
  ++n_failed;
  return true;
}

bool fails_in_thread() {
  if (n_failures == 0 || n_before_failures-- > 0) return false;
  n_before_failures = 0;
  --n_failures;
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) {
  if (fails_in_thread() || fails_in_process(size)) throw std::bad_alloc();
  const std::size_t bytes = (size + alignment - 1) / alignment * alignment;
  void* memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(size == 0 ? 1 : size)
                     : std::aligned_alloc(alignment, bytes == 0 ? alignment : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void fail_allocations(int n_before, int n) {
  n_before_failures = n_before;
  n_failures = n;
}

void begin_failing(const FailingAllocations& failing) {
  wanted = failing;
  n_counted = n_failed = 0;
  is_failing = true;
}

std::uint64_t end_failing() {
  is_failing = false;
  return n_failed;
}

void spare_this_thread() { is_spared = true; }

}  // namespace quiver::testing_support

void* operator new(std::size_t size) {
  return quiver::testing_support::allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return quiver::testing_support::allocate(size, static_cast<std::size_t>(alignment));
}
/// Sanitizers have their own operator, which would not match `delete` below.
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept try {
  return operator new(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
