// The fuzz targets without a fuzzer: every input of the corpus, then random changes of them for two
// seconds. Faults that fuzzing found are in the corpus. The input that ends the process is kept.
#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" {
#define QV_TARGET(name) int fuzz_##name(const std::uint8_t* data, std::size_t size)
QV_TARGET(body);
QV_TARGET(column);
QV_TARGET(file);
QV_TARGET(grpc);
QV_TARGET(head);
QV_TARGET(index);
QV_TARGET(line);
QV_TARGET(part);
QV_TARGET(query);
QV_TARGET(ragged);
QV_TARGET(record);
QV_TARGET(text);
QV_TARGET(vectors);
#undef QV_TARGET
}

namespace quiver::fuzz {
namespace {

namespace fs = std::filesystem;
using Input = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

constexpr std::uint64_t kSeed = 1129;
constexpr std::chrono::seconds kTime{2};
constexpr std::size_t kMostBytes = 4096;

struct Target {
  const char* name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};
constexpr Target kTargets[] = {
    {"body", fuzz_body},       {"column", fuzz_column}, {"file", fuzz_file},
    {"grpc", fuzz_grpc},       {"head", fuzz_head},     {"index", fuzz_index},
    {"line", fuzz_line},       {"part", fuzz_part},     {"query", fuzz_query},
    {"ragged", fuzz_ragged},   {"record", fuzz_record}, {"text", fuzz_text},
    {"vectors", fuzz_vectors},
};

/// For the handler of signals.
std::string kept_path;
const Input* running = nullptr;

void keep_input(int signal) {
  const int file = ::open(kept_path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (running != nullptr) (void)!::write(file, running->data(), running->size());
  constexpr char kText[] = "the input that ended the process is kept as ";
  (void)!::write(STDERR_FILENO, kText, sizeof(kText) - 1);
  (void)!::write(STDERR_FILENO, kept_path.data(), kept_path.size());
  (void)!::write(STDERR_FILENO, "\n", 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::vector<Input> corpus_of(const std::string& name) {
  std::vector<Input> inputs;
  for (const auto& entry : fs::directory_iterator("tests/fuzz/corpus/" + name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

/// A place in `input`, which is not empty.
std::ptrdiff_t place_in(const Input& input, Random& random) {
  return static_cast<std::ptrdiff_t>(random() % input.size());
}

void change(Input& input, const Input& other, Random& random) {
  if (input.empty()) return input.push_back(static_cast<std::uint8_t>(random()));
  const auto at = input.begin() + place_in(input, random);
  const auto n_left = static_cast<std::uint64_t>(input.end() - at);
  const auto end = at + static_cast<std::ptrdiff_t>(1 + random() % n_left);
  switch (random() % 7) {
    case 0:
      *at ^= static_cast<std::uint8_t>(1U << random() % 8);
      break;
    case 1:
      *at = static_cast<std::uint8_t>(random());
      break;
    case 2:
      *at = std::array<std::uint8_t, 4>{0, 0x7F, 0x80, 0xFF}[random() % 4];
      break;
    case 3:
      input.erase(at, end);
      break;
    case 4: {
      const Input part(at, end);
      input.insert(at, part.begin(), part.end());
      break;
    }
    case 5:
      input.insert(at, other.begin(), other.end());
      break;
    default:
      std::rotate(at, at + (end - at) / 2, end);
  }
  if (input.size() > kMostBytes) input.resize(kMostBytes);
}

class FuzzReplay : public ::testing::TestWithParam<Target> {
 protected:
  /// In memory of just its size, for sanitizers.
  static void run(const Input& input) {
    const Input exact(input);
    running = &exact;
    GetParam().run(exact.data(), exact.size());
    running = nullptr;
  }
};

TEST_P(FuzzReplay, TheCorpusAndChangesOfItEndNothing) {
  const std::string name = GetParam().name;
  kept_path = ::testing::TempDir() + "quiver_fuzz_" + name;
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, keep_input);
  }
  google::protobuf::SetLogHandler(nullptr);  // it tells of each field that is no UTF-8
  const std::vector<Input> inputs = corpus_of(name);
  ASSERT_FALSE(inputs.empty());
  for (const Input& input : inputs) run(input);
  Random random(kSeed);
  const auto end = std::chrono::steady_clock::now() + kTime;
  std::uint64_t n_run = 0;
  for (; std::chrono::steady_clock::now() < end; ++n_run) {
    Input input = inputs[random() % inputs.size()];
    for (std::uint64_t n = 1 + random() % 6; n > 0; --n) {
      change(input, inputs[random() % inputs.size()], random);
    }
    run(input);
  }
  RecordProperty("inputs", static_cast<int>(n_run));
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, SIG_DFL);
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzReplay, ::testing::ValuesIn(kTargets),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quiver::fuzz
