#include "cluster/copies.h"

#include <fmt/format.h>

#include <span>
#include <utility>
#include <vector>

#include "cluster/messages.h"

namespace quiver::cluster {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{8} << 20;
constexpr std::chrono::seconds kIdle{60};

engine::SnapshotScope scope_of(std::string name) {
  engine::SnapshotScope scope;
  scope.collection = std::move(name);
  return scope;
}

Result<std::vector<std::uint64_t>> numbers_of(std::string_view message, std::size_t n) {
  QV_TRY(auto numbers, read_numbers(message));
  if (numbers.size() == n) return numbers;
  return fail(Code::kInvalidArgument,
              fmt::format("a message about a copy has {} numbers, not {}", numbers.size(), n));
}

Result<> receive_pieces(PeerClient& peers, const std::string& peer, std::uint64_t copy,
                        std::uint64_t n_bytes, engine::SnapshotReceiver& receiver) {
  for (std::uint64_t offset = 0; offset < n_bytes;) {
    std::string question;
    append_number(copy, question);
    append_number(offset, question);
    QV_TRY(const auto piece, peers.call(peer, kReadCopy, question));
    if (piece.empty()) {
      return fail(Code::kDataLoss,
                  fmt::format("the copy ends after {} of {} bytes", offset, n_bytes));
    }
    QV_TRY(receiver.write(piece));
    offset += piece.size();
  }
  return {};
}

}  // namespace

Result<std::string> CopySource::answer(std::string_view verb, std::string_view body,
                                       engine::Snapshots& snapshots) {
  if (verb == kOpenCopy) return open(body, snapshots);
  if (verb == kReadCopy) return read(body);
  QV_TRY(const auto number, numbers_of(body, 1));
  MutexLock lock(mutex_);
  copies_.erase(number[0]);
  return std::string();
}

Result<std::string> CopySource::open(std::string_view name, engine::Snapshots& snapshots) {
  QV_TRY(auto reader, snapshots.stream(scope_of(std::string(name))));
  std::string answer;
  const std::uint64_t n_bytes = reader->size_bytes();
  auto copy = std::make_shared<Copy>();
  {
    MutexLock lock(copy->mutex);
    copy->reader = std::move(reader);
  }
  copy->last_used = std::chrono::steady_clock::now();
  MutexLock lock(mutex_);
  append_number(++last_number_, answer);
  append_number(n_bytes, answer);
  copies_[last_number_] = std::move(copy);
  return answer;
}

Result<std::string> CopySource::read(std::string_view question) {
  QV_TRY(const auto numbers, numbers_of(question, 2));
  std::shared_ptr<Copy> copy;
  {
    MutexLock lock(mutex_);
    const auto found = copies_.find(numbers[0]);
    if (found == copies_.end()) {
      return fail(Code::kNotFound, fmt::format("there is no copy {}", numbers[0]));
    }
    copy = found->second;
    copy->last_used = std::chrono::steady_clock::now();
  }
  std::string piece(kPieceBytes, '\0');
  std::size_t n = 0;
  MutexLock lock(copy->mutex);
  while (n < piece.size()) {
    QV_TRY(const auto n_read, copy->reader->read(numbers[1] + n, std::span(piece).subspan(n)));
    if (n_read == 0) break;
    n += n_read;
  }
  piece.resize(n);
  return piece;
}

void CopySource::close_idle() {
  const auto before = std::chrono::steady_clock::now() - kIdle;
  std::vector<std::shared_ptr<Copy>> closed;  // outside the lock
  MutexLock lock(mutex_);
  for (auto copy = copies_.begin(); copy != copies_.end();) {
    if (copy->second->last_used > before) {
      ++copy;
      continue;
    }
    closed.push_back(std::move(copy->second));
    copy = copies_.erase(copy);
  }
}

Result<> fetch_copy(PeerClient& peers, const std::string& peer, const std::string& name,
                    engine::Snapshots& snapshots) {
  QV_TRY(const auto opened, peers.call(peer, kOpenCopy, name));
  QV_TRY(const auto numbers, numbers_of(opened, 2));
  QV_TRY(const auto receiver, snapshots.receive(scope_of(name), {}));
  const auto received = receive_pieces(peers, peer, numbers[0], numbers[1], *receiver);
  std::string question;
  append_number(numbers[0], question);
  (void)peers.call(peer, kCloseCopy, question);
  QV_TRY(received);
  return receiver->finish();
}

}  // namespace quiver::cluster
