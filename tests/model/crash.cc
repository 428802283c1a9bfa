// kill -9 at a random moment, and the checks afterwards.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tests/model/bulk_input.h"
#include "tests/model/runner.h"

extern char** environ;

namespace quiver::model {
namespace {

using engine::testing::Model;
constexpr std::uint32_t kMaxRequests = 100'000;
constexpr int kMaxInFlight = 4;

/// A message of the child through its pipe: request number `request` was sent or acknowledged.
struct Note {
  std::uint32_t request = 0;
  std::uint32_t acknowledged = 0;
};

void tell(Note note) {
  // Fewer bytes than PIPE_BUF are written atomically, also by several threads.
  if (write(STDOUT_FILENO, &note, sizeof(note)) != sizeof(note)) _exit(3);
}

struct Child {
  pid_t pid = 0;
  int pipe = -1;
};

Child start_child(const std::string& directory, std::uint64_t seed) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  std::array<std::string, 4> arguments = {"/proc/self/exe", "--crash-child", directory,
                                          std::to_string(seed)};
  std::array<char*, 5> argv{};
  for (std::size_t i = 0; i < arguments.size(); ++i) argv[i] = arguments[i].data();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  Child child;
  child.pipe = ends[0];
  EXPECT_EQ(posix_spawn(&child.pid, argv[0], &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  return child;
}

/// Kills the child `delay_us` after so many acknowledgements, and reads all its messages.
Sent listen_and_kill(const Child& child, std::uint64_t n_acknowledged, std::uint64_t delay_us) {
  Sent notes;
  bool killed = false;
  const auto kill_now = [&] {
    usleep(static_cast<useconds_t>(delay_us));
    EXPECT_EQ(kill(child.pid, SIGKILL), 0);
    killed = true;
  };
  if (n_acknowledged == 0) kill_now();
  Note note;
  while (read(child.pipe, &note, sizeof(note)) == sizeof(note)) {
    notes.n_sent = std::max(notes.n_sent, note.request + 1);
    if (note.acknowledged != 0) notes.acknowledged.push_back(note.request);
    if (!killed && notes.acknowledged.size() >= n_acknowledged) kill_now();
  }
  ::close(child.pipe);
  int status = 0;
  EXPECT_EQ(waitpid(child.pid, &status, 0), child.pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
      << "the child ended by itself, status " << status;
  return notes;
}

/// The contents of a shard without versions: enough to identify the state. Versions are compared
/// afterwards.
std::vector<std::string> contents(const Model& points) {
  std::vector<std::string> contents;
  for (const auto& [id, row] : points) {
    contents.push_back(id.to_string() + " v" + std::to_string(to_number(row.seq)) + row.payload);
  }
  return contents;
}

std::vector<std::string> contents(engine::Collection& collection, const CollectionModel& model,
                                  std::uint32_t shard) {
  engine::ScrollRequest request;
  request.limit = 100'000;
  const Cancel cancel;
  const auto page = collection.scroll(request, cancel);
  EXPECT_TRUE(page) << page.error().to_string();
  std::vector<std::string> contents;
  for (const auto& record : page->points) {
    if (model.shard_of(record.id) != shard) continue;
    contents.push_back(record.id.to_string() + " v" + std::to_string(to_number(record.version)) +
                       *record.payload);
  }
  return contents;
}

std::string cursor_of(std::uint64_t seed, std::uint32_t number) {
  return std::to_string(seed) + '/' + std::to_string(number);
}

/// Checks that the cursor names the last bulk chunk, and that this chunk is in every shard.
void expect_cursor(Runner& runner, std::uint64_t seed, const Sent& sent,
                   const std::vector<std::uint32_t>& n_found) {
  const auto cursor = runner.collection().bulk_cursor();
  ASSERT_TRUE(cursor) << cursor.error().to_string();
  std::int64_t last = -1;
  for (std::uint32_t number = 0; number < sent.n_sent; ++number) {
    if (*cursor == cursor_of(seed, number)) last = number;
  }
  for (std::uint32_t number = 0; number < sent.n_sent; ++number) {
    if (!is_bulk(number)) continue;
    const auto request = numbered_request(runner.model().config(), seed, number);
    const auto touched = runner.model().touched(request);
    for (std::uint32_t s = 0; s < touched.size(); ++s) {
      if (!touched[s]) continue;
      EXPECT_EQ(number < n_found[s], static_cast<std::int64_t>(number) <= last)
          << "bulk chunk " << number << " in shard " << s << ", the cursor is " << last;
    }
  }
}

}  // namespace

Request numbered_request(const engine::CollectionConfig& config, std::uint64_t seed,
                         std::uint32_t number) {
  Random random(seed * 1'000'003 + number);
  if (!is_bulk(number)) return random_request(config, random);
  return {engine::Upsert{random_points(config, 20 + random() % 60, random), {}, {}}};
}

bool is_bulk(std::uint32_t number) { return number % 5 == 2; }

Result<> send(engine::Collection& collection, const engine::CollectionConfig& config,
              std::uint64_t seed, std::uint32_t number) {
  auto request = numbered_request(config, seed, number);
  if (is_bulk(number)) {
    auto& points = std::get<engine::Upsert>(request[0]).points;
    return collection.bulk_load(OwnedChunk(config, points, cursor_of(seed, number)).view());
  }
  QV_TRY(update(collection, std::move(request), engine::Ack::kVisible));
  return {};
}

void crash_and_recover(Runner& runner, std::uint64_t seed, Random& random) {
  runner.close();
  const Child child = start_child(runner.directory(), seed);
  const std::uint64_t n_wanted = random() % 5 == 0 ? random() % 3 : random() % 150;
  const Sent sent = listen_and_kill(child, n_wanted, random() % 20'000);
  runner.open();
  expect_prefix(runner, seed, sent);
}

void expect_prefix(Runner& runner, std::uint64_t seed, const Sent& sent) {
  CollectionModel& model = runner.model();
  std::vector<std::uint32_t> at_least(model.n_shards(), 0);
  for (const std::uint32_t number : sent.acknowledged) {
    const auto touched = model.touched(numbered_request(model.config(), seed, number));
    for (std::uint32_t s = 0; s < touched.size(); ++s) {
      if (touched[s]) at_least[s] = std::max(at_least[s], number + 1);
    }
  }
  std::vector<std::uint32_t> n_found;
  for (std::uint32_t shard = 0; shard < model.n_shards(); ++shard) {
    const auto found = contents(runner.collection(), model, shard);
    std::uint32_t n = 0;
    const auto apply_next = [&] {
      model.apply_to_shard(numbered_request(model.config(), seed, n++), shard);
    };
    while (n < at_least[shard]) apply_next();
    while (contents(model.shard(shard)) != found && n < sent.n_sent) apply_next();
    ASSERT_EQ(found, contents(model.shard(shard)))
        << "shard " << shard << ": at least " << at_least[shard] << " requests of " << sent.n_sent
        << " are wanted";
    n_found.push_back(n);
  }
  expect_cursor(runner, seed, sent, n_found);
}

void run_crash_child(const std::string& directory, std::uint64_t seed) {
  auto database = engine::Database::open(small_options(directory));
  if (!database) _exit(4);
  const auto collection = (*database)->collection(kCollection);
  if (!collection) _exit(5);
  const engine::CollectionConfig config = *(*collection)->config();
  Mutex mutex;
  CondVar fewer;
  int n_in_flight = 0;
  for (std::uint32_t number = 0; number < kMaxRequests; ++number) {
    {
      MutexLock lock(mutex);
      while (n_in_flight == kMaxInFlight) fewer.wait(mutex);
      ++n_in_flight;
    }
    tell({number, 0});
    if (is_bulk(number)) {
      {
        MutexLock lock(mutex);
        while (n_in_flight > 1) fewer.wait(mutex);  // waits for all requests before it
        --n_in_flight;
      }
      if (!send(**collection, config, seed, number)) _exit(6);
      tell({number, 1});
      continue;
    }
    const auto ack = number % 2 == 0 ? engine::Ack::kVisible : engine::Ack::kDurable;
    const auto queued =
        (*collection)
            ->update(numbered_request(config, seed, number), ack, [&, number](auto result) {
              if (!result && result.error().code() != Code::kNotFound) _exit(6);
              tell({number, 1});
              MutexLock lock(mutex);
              --n_in_flight;
              fewer.notify_all();
            });
    if (!queued) _exit(7);
  }
  _exit(8);
}

}  // namespace quiver::model
