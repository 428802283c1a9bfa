#include "app/import/http/block_queue.h"

#include <utility>

namespace quiver::app {

bool BlockQueue::push(RowBlock block) {
  {
    MutexLock lock(mutex_);
    while (!stopped_ && blocks_.size() >= capacity_) changed_.wait(mutex_);
    if (stopped_) return false;
    blocks_.push_back(std::move(block));
  }
  changed_.notify_all();
  return true;
}

void BlockQueue::finish() {
  {
    MutexLock lock(mutex_);
    finished_ = true;
  }
  changed_.notify_all();
}

void BlockQueue::stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    blocks_.clear();
  }
  changed_.notify_all();
}

bool BlockQueue::front_may_go() const {
  if (blocks_.empty()) return false;
  if (ids_ == Ids::kDistinct) return true;
  for (const RowPoint& point : blocks_.front().points) {
    if (in_flight_.contains(point.id)) return false;
  }
  return true;
}

std::optional<RowBlock> BlockQueue::pop() {
  std::optional<RowBlock> block;
  {
    MutexLock lock(mutex_);
    while (!stopped_ && !front_may_go() && !(finished_ && blocks_.empty())) changed_.wait(mutex_);
    if (stopped_ || blocks_.empty()) return block;
    block = std::move(blocks_.front());
    blocks_.pop_front();
    if (ids_ == Ids::kMayRepeat) {
      for (const RowPoint& point : block->points) in_flight_.insert(point.id);
    }
  }
  changed_.notify_all();
  return block;
}

void BlockQueue::done(RowBlock block) {
  {
    MutexLock lock(mutex_);
    if (ids_ == Ids::kMayRepeat) {
      for (const RowPoint& point : block.points) in_flight_.erase(point.id);
    }
    if (used_.size() < capacity_) used_.push_back(std::move(block));
  }
  changed_.notify_all();
}

RowBlock BlockQueue::used() {
  RowBlock block;
  MutexLock lock(mutex_);
  if (used_.empty()) return block;
  block = std::move(used_.back());
  used_.pop_back();
  return block;
}

}  // namespace quiver::app
