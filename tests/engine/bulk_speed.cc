// How fast bulk loading is beside the disk: bulk_speed DIRECTORY [POINTS DIM KIND SHARDS]
// KIND: rows (ascending numbers) or uuids. Writes a plain file of the same size before and after,
// synced, as the measure of the disk. Not a test.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/database.h"

namespace quiver::engine {
namespace {

struct Setup {
  std::string directory;
  std::uint64_t n_points = 1'000'000;
  std::uint32_t dim = 384;
  bool uuids = false;
  std::uint32_t n_shards = 1;
};

/// MB/s of one large file, written front to back and synced.
double disk_rate(const std::string& directory, std::uint64_t n_bytes) {
  const std::string path = directory + "/plain";
  const std::vector<char> block(1 << 20, 'x');
  const Stopwatch clock;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (std::uint64_t n = 0; n < n_bytes; n += block.size()) {
    if (::write(file, block.data(), block.size()) < 0) std::abort();
  }
  ::fdatasync(file);
  ::close(file);
  const double seconds = clock.seconds();
  std::filesystem::remove(path);
  return static_cast<double>(n_bytes) / 1e6 / seconds;
}

/// What this process has had written to disk so far, in bytes.
std::uint64_t written_bytes() {
  std::ifstream io("/proc/self/io");
  std::string key;
  std::uint64_t value = 0;
  while (io >> key >> value) {
    if (key == "write_bytes:") return value;
  }
  return 0;
}

template <class T>
T check(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void load(Collection& collection, const Setup& setup) {
  const std::uint64_t chunk_rows =
      std::min(setup.n_points, kBulkChunkBytes / (setup.dim * sizeof(float)));
  std::mt19937_64 random(7);
  std::vector<float> values(chunk_rows * setup.dim);
  for (float& value : values) value = static_cast<float>(random() % 2000) / 1000 - 1;
  std::vector<PointId> ids(chunk_rows);
  double seconds = 0;
  const std::uint64_t written_before = written_bytes();
  for (std::uint64_t first = 0; first < setup.n_points; first += chunk_rows) {
    const std::uint64_t n = std::min(chunk_rows, setup.n_points - first);
    for (std::uint64_t i = 0; i < n; ++i) {
      ids[i] = setup.uuids ? PointId::uuid(random(), random()) : PointId::number(first + i);
    }
    BulkChunk chunk;
    chunk.ids = std::span(ids).first(n);
    chunk.fields.push_back({"", DenseRows{std::span(values).first(n * setup.dim)}, {}});
    chunk.cursor = std::to_string(first + n);
    const Stopwatch clock;
    check(collection.bulk_load(chunk));
    seconds += clock.seconds();
  }
  const double bytes = static_cast<double>(written_bytes() - written_before);
  std::printf("bulk: %.1f s, %.0f points/s, %.0f MB written, %.0f MB/s\n", seconds,
              static_cast<double>(setup.n_points) / seconds, bytes / 1e6, bytes / 1e6 / seconds);
}

void rest(const Collection& collection) {
  const std::uint64_t before = written_bytes();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  while (collection.info().health != Health::kGreen) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const auto info = collection.info();
  std::printf("then: %llu points, %llu segments, %.0f MB written afterwards\n",
              static_cast<unsigned long long>(info.n_points),
              static_cast<unsigned long long>(info.n_segments),
              static_cast<double>(written_bytes() - before) / 1e6);
}

void run(const Setup& setup) {
  std::filesystem::create_directories(setup.directory);
  const std::uint64_t n_bytes = 2 * setup.n_points * setup.dim * sizeof(float);
  std::printf("disk: %.0f MB/s\n", disk_rate(setup.directory, n_bytes));
  DatabaseOptions options;
  options.data_dir = setup.directory + "/data";
  std::filesystem::remove_all(options.data_dir);
  const auto database = check(Database::open(options));
  CollectionConfig config;
  config.fields = {{"", FieldKind::kDense, setup.dim, DType::kF32, Metric::kDot, {}}};
  config.shard_number = setup.n_shards;
  check(database->create_collection("bulk", config));
  const auto collection = check(database->collection("bulk"));
  load(*collection, setup);
  rest(*collection);
  check(database->close());
  std::filesystem::remove_all(options.data_dir);
  std::printf("disk: %.0f MB/s\n", disk_rate(setup.directory, n_bytes));
}

}  // namespace
}  // namespace quiver::engine

int main(int argc, char** argv) {
  quiver::engine::Setup setup;
  if (argc < 2) return 2;
  setup.directory = argv[1];
  if (argc > 2) setup.n_points = std::strtoull(argv[2], nullptr, 10);
  if (argc > 3) setup.dim = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  if (argc > 4) setup.uuids = std::strcmp(argv[4], "uuids") == 0;
  if (argc > 5) setup.n_shards = static_cast<std::uint32_t>(std::strtoul(argv[5], nullptr, 10));
  quiver::engine::run(setup);
  return 0;
}
