// Damaged, cut or missing files of segments and payload columns: the same answers from rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "tests/fault/engine_fault_support.h"

namespace quiver::fault {
namespace {

namespace fs = std::filesystem;
using model::Random;
using model::Runner;

void flip_a_bit(const fs::path& path, Random& random) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(random() % fs::file_size(path));
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ (1 << random() % 8));
  file.seekp(at);
  file.put(byte);
  ASSERT_TRUE(file.good());
}

void cut_short(const fs::path& path, Random& random) {
  fs::resize_file(path, random() % fs::file_size(path));
}

class EngineDamage : public EngineFault {
 protected:
  [[nodiscard]] std::vector<fs::path> segment_files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / "segments")) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  void live_a_while(Runner& runner, Random& random) {
    for (int step = 0; step < 80 && !HasFailure(); ++step) runner.random_step(random);
    if (!HasFailure()) runner.check_rest();
  }
  /// Damages what `damage` will, and opens twice: the second time before all is sealed again.
  void expect_same_answers(Runner& runner, const std::function<void()>& damage) {
    const auto before = runner.probe(1);
    runner.close();
    damage();
    for (int times = 0; times < 2; ++times) {
      runner.open();
      if (HasFatalFailure()) return;
      EXPECT_EQ(runner.probe(1), before);
      runner.check_everything();
      if (times == 0) runner.close();
    }
  }
};

TEST_F(EngineDamage, AnswersComeFromRows) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    new_machine();
    Random random(seed);
    Runner runner(options(), model::random_config(random));
    runner.open();
    if (HasFatalFailure()) return;
    for (const char* key : {"n", "s", "t"}) {
      payload::FieldIndex index;
      index.key = key;
      index.kind = *key == 'n'   ? payload::IndexKind::kInteger
                   : *key == 's' ? payload::IndexKind::kKeyword
                                 : payload::IndexKind::kText;
      ASSERT_TRUE(runner.collection().create_index(index));
    }
    runner.model().set_indexes(runner.collection().config()->indexes);
    for (int i = 0; i < 5; ++i) {
      SCOPED_TRACE("damage number " + std::to_string(i));
      live_a_while(runner, random);
      if (HasFailure()) return;
      expect_same_answers(runner, [&] {
        const auto files = segment_files();
        ASSERT_FALSE(files.empty());
        for (const auto& file : files) {
          if (random() % 2 == 0) continue;
          SCOPED_TRACE(file.string());
          switch (fs::file_size(file) == 0 ? 2 : random() % 4) {
            case 0:
              flip_a_bit(file, random);
              break;
            case 1:
              cut_short(file, random);
              break;
            case 2:
              fs::remove(file);
              break;
            default:
              fs::remove_all(file.parent_path());
              return;  // the rest of the list may be gone
          }
        }
      });
      if (HasFailure()) return;
    }
    runner.check_rest();
  }
}

}  // namespace
}  // namespace quiver::fault
