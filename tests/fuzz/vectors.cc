// Files of vectors to be imported, whose kind the first byte chooses: read whole, and refused with
// a text if they are not what their name says.
#include <unistd.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dataset/vectors.h"

namespace quiver::dataset {
namespace {

struct Kind {
  const char* ending;
  FieldKind kind;
};

constexpr std::array<Kind, 9> kKinds = {{{".npy", FieldKind::kDense},
                                         {".fvecs", FieldKind::kDense},
                                         {".bvecs", FieldKind::kDense},
                                         {".ivecs", FieldKind::kDense},
                                         {".fbin", FieldKind::kDense},
                                         {".u8bin", FieldKind::kDense},
                                         {".csr", FieldKind::kSparse},
                                         {".idx3-ubyte", FieldKind::kDense},
                                         {".npy.gz", FieldKind::kDense}}};
constexpr std::size_t kMaxRows = 1000;

void read_all(const std::string& path, FieldKind kind) {
  const auto reader = open_vectors(path, kind);
  if (!reader) {
    if (reader.error().message().empty()) std::abort();
    return;
  }
  VectorBatch batch;
  for (std::size_t n = 0; n < kMaxRows; n += 100) {
    const auto rows = (*reader)->rows_within(100, 1 << 20);
    if (!rows || !(*reader)->read(*rows, batch) || batch.n_rows == 0) return;
  }
}

/// A file in memory, removed in the end.
class File {
 public:
  File(const char* ending, const std::uint8_t* data, std::size_t size)
      : path_("/dev/shm/quiver-fuzz-" + std::to_string(getpid()) + ending) {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    if (file == nullptr || std::fwrite(data, 1, size, file) != size) std::abort();
    std::fclose(file);
  }
  ~File() { std::remove(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace
}  // namespace quiver::dataset

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quiver::dataset;
  if (size == 0) return 0;
  const Kind& kind = kKinds[(data[0] - static_cast<unsigned>('a')) % kKinds.size()];
  const File file(kind.ending, data + 1, size - 1);
  read_all(file.path(), kind.kind);
  return 0;
}
