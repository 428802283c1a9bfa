#include "tests/service/failing_allocation.h"

#include <cstdlib>
#include <new>

namespace quiver::service {
namespace {

thread_local int n_before_failures = 0;
thread_local int n_failures = 0;

bool fails_now() {
  if (n_failures == 0 || n_before_failures-- > 0) return false;
  n_before_failures = 0;
  --n_failures;
  return true;
}

}  // namespace

void fail_allocations(int n_before, int n) {
  n_before_failures = n_before;
  n_failures = n;
}

}  // namespace quiver::service

void* operator new(std::size_t size) {
  void* memory = quiver::service::fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
