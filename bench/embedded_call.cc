// How long a search takes as a C++ call, as a measure of what the Python package adds to it:
// bench/embedded.py. Usage: embedded_call DATA_DIR COLLECTION FILE DIM K REPEATS      FILE: float32
// [n, DIM], without a header
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/database.h"

namespace {

using namespace quiver;

std::vector<float> read_floats(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<float> values(static_cast<std::size_t>(file.tellg()) / sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

/// Makes the query as well: so does every caller.
double search_us(const engine::Collection& collection, const float* vector, std::size_t dim,
                 std::size_t k) {
  const auto begin = std::chrono::steady_clock::now();
  engine::Query query;
  query.kind = engine::Nearest{engine::DenseVector(vector, vector + dim)};
  query.limit = k;
  const auto records = collection.query(query, Cancel());
  const auto end = std::chrono::steady_clock::now();
  if (!records) {
    fmt::print(stderr, "{}\n", records.error().message());
    std::exit(EXIT_FAILURE);
  }
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr, "usage: embedded_call DATA_DIR COLLECTION FILE DIM K REPEATS\n");
    return EXIT_FAILURE;
  }
  engine::DatabaseOptions options;
  options.data_dir = argv[1];
  const auto database = engine::Database::open(options);
  if (!database) {
    fmt::print(stderr, "{}\n", database.error().message());
    return EXIT_FAILURE;
  }
  const auto collection = (*database)->collection(argv[2]);
  if (!collection) {
    fmt::print(stderr, "{}\n", collection.error().message());
    return EXIT_FAILURE;
  }
  const auto queries = read_floats(argv[3]);
  const std::size_t dim = std::strtoul(argv[4], nullptr, 10);
  const std::size_t k = std::strtoul(argv[5], nullptr, 10);
  std::vector<double> times;
  for (unsigned long repeat = std::strtoul(argv[6], nullptr, 10); repeat > 0; --repeat) {
    for (std::size_t i = 0; i + dim <= queries.size(); i += dim) {
      times.push_back(search_us(**collection, queries.data() + i, dim, k));
    }
  }
  std::ranges::sort(times);
  fmt::print("{:.3f}\n", times[times.size() / 2]);
  return (*database)->close() ? EXIT_SUCCESS : EXIT_FAILURE;
}
