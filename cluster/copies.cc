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
                        std::uint64_t n_bytes,
                        const std::function<Result<>(std::string_view)>& take) {
  for (std::uint64_t offset = 0; offset < n_bytes;) {
    std::string question;
    append_number(copy, question);
    append_number(offset, question);
    QV_TRY(const auto piece, peers.call(peer, kReadCopy, question));
    if (piece.empty()) {
      return fail(Code::kDataLoss,
                  fmt::format("the copy ends after {} of {} bytes", offset, n_bytes));
    }
    QV_TRY(take(piece));
    offset += piece.size();
  }
  return {};
}

}  // namespace

Result<std::string> CopySource::answer(std::string_view verb, std::string_view body,
                                       engine::Snapshots& snapshots) {
  if (verb == kOpenCopy) {
    QV_TRY(auto reader, snapshots.stream(scope_of(std::string(body))));
    return offer(std::move(reader));
  }
  if (verb == kReadCopy) return read(body);
  QV_TRY(const auto number, numbers_of(body, 1));
  MutexLock lock(mutex_);
  copies_.erase(number[0]);
  return std::string();
}

std::string CopySource::offer(std::unique_ptr<engine::SnapshotReader> reader) {
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

Result<> receive_copy(PeerClient& peers, const std::string& peer, std::string_view verb,
                      std::string_view subject,
                      const std::function<Result<>(std::string_view)>& take) {
  QV_TRY(const auto opened, peers.call(peer, verb, subject));
  QV_TRY(const auto numbers, numbers_of(opened, 2));
  auto received = receive_pieces(peers, peer, numbers[0], numbers[1], take);
  std::string question;
  append_number(numbers[0], question);
  (void)peers.call(peer, kCloseCopy, question);
  return received;
}

Result<std::unique_ptr<engine::SnapshotReceiver>> fetch_copy(
    PeerClient& peers, const std::string& peer, const std::string& name,
    const std::string& cluster_id, engine::Snapshots& snapshots,
    const std::function<Result<>()>& check) {
  const engine::SnapshotUse use{engine::SnapshotUse::Kind::kCopy, {}, false};
  QV_TRY(auto receiver, snapshots.receive_as(use, scope_of(name), {}));
  QV_TRY(receive_copy(peers, peer, kOpenCopy, name, [&](std::string_view piece) -> Result<> {
    QV_TRY(check());
    return receiver->write(piece);
  }));
  QV_TRY(const auto config, receiver->check());
  if (config.cluster_id == cluster_id) return receiver;
  return fail(
      Code::kUnavailable,
      fmt::format("the node at {} has another collection `{}` than the ledger", peer, name));
}

}  // namespace quiver::cluster
