// System calls that fail or take long on demand, for a process that is started with this library in
// LD_PRELOAD. The file named by QUIVER_FAILING_CALLS holds a Control that
// tests/e2e/failing_calls.py writes. Only calls for files below QUIVER_FAILING_BELOW count.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

// As in failing_calls.py.
enum Kind : std::uint32_t {
  kOpen,
  kRead,
  kWrite,
  kSync,
  kRename,
  kRemove,
  kMakeDirectory,
  kLink,
  kMap,
  kResize,
  kList
};

/// Call `first` (from 1) to `first + n_times - 1` of `kind` are held up for `delay_us` while
/// `is_armed`, and then fail with `error` unless it is 0.
struct Control {
  std::atomic<std::uint32_t> is_armed;
  std::uint32_t kind;
  std::uint64_t first;
  std::uint64_t n_times;
  std::int64_t error;
  std::uint64_t delay_us;
  std::atomic<std::uint64_t> n_seen;
  std::atomic<std::uint64_t> n_failed;
  std::array<char, 512> path;  ///< of the first call that failed
};

const char* below() {
  static const char* const directory = std::getenv("QUIVER_FAILING_BELOW");
  return directory;
}

Control* mapped_control() {
  const char* path = std::getenv("QUIVER_FAILING_CALLS");
  if (path == nullptr || below() == nullptr) return nullptr;
  const auto open_file = reinterpret_cast<int (*)(const char*, int, ...)>(dlsym(RTLD_NEXT, "open"));
  const auto map_file = reinterpret_cast<void* (*)(void*, std::size_t, int, int, int, off_t)>(
      dlsym(RTLD_NEXT, "mmap"));
  const int file = open_file(path, O_RDWR | O_CLOEXEC);
  if (file < 0) std::abort();
  void* memory = map_file(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) std::abort();
  close(file);
  return static_cast<Control*>(memory);
}

Control* control() {
  static Control* const mapped = mapped_control();
  return mapped;
}

bool is_below(const char* path) { return std::strncmp(path, below(), std::strlen(below())) == 0; }

void hold_up(std::uint64_t delay_us) {
  timespec left{static_cast<time_t>(delay_us / 1'000'000),
                static_cast<long>(delay_us % 1'000'000 * 1000)};
  while (nanosleep(&left, &left) != 0) {
  }
}

/// Sets `errno` and returns true if the call for `path` must fail.
bool fails(Kind kind, const char* path) {
  Control* c = control();
  if (c == nullptr || c->is_armed == 0 || c->kind != kind || !is_below(path)) return false;
  const std::uint64_t number = ++c->n_seen;
  if (number < c->first || number - c->first >= c->n_times) return false;
  if (c->n_failed++ == 0) std::snprintf(c->path.data(), c->path.size(), "%s", path);
  if (c->delay_us != 0) hold_up(c->delay_us);
  errno = static_cast<int>(c->error);
  return c->error != 0;
}

bool fails(Kind kind, int file) {
  Control* c = control();
  if (c == nullptr || c->is_armed == 0 || c->kind != kind) return false;
  std::array<char, 64> link{};
  std::array<char, 4096> path{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", file);
  if (readlink(link.data(), path.data(), path.size() - 1) < 0) return false;
  return fails(kind, path.data());
}

/// `path` as the process means it, for calls relative to a directory.
bool fails(Kind kind, int directory, const char* path) {
  return path[0] == '/' || directory == AT_FDCWD ? fails(kind, path) : fails(kind, directory);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// The mode is given only with these flags.
#define QV_MODE_OF(flags)                         \
  mode_t mode = 0;                                \
  if (((flags) & (O_CREAT | __O_TMPFILE)) != 0) { \
    va_list arguments;                            \
    va_start(arguments, flags);                   \
    mode = va_arg(arguments, mode_t);             \
    va_end(arguments);                            \
  }

// Passes a call on unless it must fail: result if it fails, name, parameters, arguments, and what
// it concerns.
#define QV_CALL(kind, what, result, type, name, parameters, arguments) \
  type name parameters {                                               \
    if (fails(kind, what)) return result;                              \
    static auto* const real = next<type parameters>(#name);            \
    return real arguments;                                             \
  }

extern "C" {

int open(const char* path, int flags, ...) {
  QV_MODE_OF(flags)
  if (fails(kOpen, path)) return -1;
  static auto* const real = next<int(const char*, int, ...)>("open");
  return real(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  QV_MODE_OF(flags)
  if (fails(kOpen, path)) return -1;
  static auto* const real = next<int(const char*, int, ...)>("open64");
  return real(path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  QV_MODE_OF(flags)
  if (fails(kOpen, directory, path)) return -1;
  static auto* const real = next<int(int, const char*, int, ...)>("openat");
  return real(directory, path, flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) {
  QV_MODE_OF(flags)
  if (fails(kOpen, directory, path)) return -1;
  static auto* const real = next<int(int, const char*, int, ...)>("openat64");
  return real(directory, path, flags, mode);
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  if (fails(kRemove, directory, path)) return -1;
  static auto* const real = next<int(int, const char*, int)>("unlinkat");
  return real(directory, path, flags);
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  if (fails(kMakeDirectory, directory, path)) return -1;
  static auto* const real = next<int(int, const char*, mode_t)>("mkdirat");
  return real(directory, path, mode);
}
int renameat(int from, const char* old_path, int to, const char* new_path) noexcept {
  if (fails(kRename, from, old_path)) return -1;
  static auto* const real = next<int(int, const char*, int, const char*)>("renameat");
  return real(from, old_path, to, new_path);
}
int linkat(int from, const char* old_path, int to, const char* new_path, int flags) noexcept {
  if (fails(kLink, to, new_path)) return -1;
  static auto* const real = next<int(int, const char*, int, const char*, int)>("linkat");
  return real(from, old_path, to, new_path, flags);
}

/// Without flags it does nothing: RocksDB asks so whether there is this call, and ends if there is
/// an error.
int sync_file_range(int file, off64_t at, off64_t n, unsigned flags) {
  if (flags != 0 && fails(kSync, file)) return -1;
  static auto* const real = next<int(int, off64_t, off64_t, unsigned)>("sync_file_range");
  return real(file, at, n, flags);
}

QV_CALL(kRead, file, -1, ssize_t, read, (int file, void* to, size_t n), (file, to, n))
QV_CALL(kRead, file, -1, ssize_t, pread, (int file, void* to, size_t n, off_t at),
        (file, to, n, at))
QV_CALL(kRead, file, -1, ssize_t, pread64, (int file, void* to, size_t n, off64_t at),
        (file, to, n, at))
QV_CALL(kWrite, file, -1, ssize_t, write, (int file, const void* from, size_t n), (file, from, n))
QV_CALL(kWrite, file, -1, ssize_t, writev, (int file, const iovec* from, int n), (file, from, n))
QV_CALL(kWrite, file, -1, ssize_t, pwrite, (int file, const void* from, size_t n, off_t at),
        (file, from, n, at))
QV_CALL(kWrite, file, -1, ssize_t, pwrite64, (int file, const void* from, size_t n, off64_t at),
        (file, from, n, at))
QV_CALL(kSync, file, -1, int, fsync, (int file), (file))
QV_CALL(kSync, file, -1, int, fdatasync, (int file), (file))
QV_CALL(kRename, from, -1, int, rename, (const char* from, const char* to) noexcept, (from, to))
QV_CALL(kRemove, path, -1, int, unlink, (const char* path) noexcept, (path))
QV_CALL(kRemove, path, -1, int, rmdir, (const char* path) noexcept, (path))
QV_CALL(kRemove, path, -1, int, remove, (const char* path) noexcept, (path))
QV_CALL(kMakeDirectory, path, -1, int, mkdir, (const char* path, mode_t mode) noexcept,
        (path, mode))
QV_CALL(kLink, to, -1, int, link, (const char* from, const char* to) noexcept, (from, to))
QV_CALL(kMap, file, MAP_FAILED, void*, mmap,
        (void* at, size_t n, int access, int flags, int file, off_t from) noexcept,
        (at, n, access, flags, file, from))
QV_CALL(kMap, file, MAP_FAILED, void*, mmap64,
        (void* at, size_t n, int access, int flags, int file, off64_t from) noexcept,
        (at, n, access, flags, file, from))
QV_CALL(kResize, file, -1, int, ftruncate, (int file, off_t n) noexcept, (file, n))
QV_CALL(kResize, file, -1, int, ftruncate64, (int file, off64_t n) noexcept, (file, n))
QV_CALL(kResize, file, -1, int, fallocate, (int file, int mode, off_t at, off_t n),
        (file, mode, at, n))
QV_CALL(kResize, file, -1, int, fallocate64, (int file, int mode, off64_t at, off64_t n),
        (file, mode, at, n))
QV_CALL(kList, path, nullptr, DIR*, opendir, (const char* path), (path))

}  // extern "C"
