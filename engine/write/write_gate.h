// Whether updates may be acknowledged: one gate per database, asked by each of its collections.
#pragma once

#include <memory>
#include <utility>

#include "base/result.h"
#include "base/threads/published.h"

namespace quiver::engine {

/// Thread-safe.
class WriteGate {
 public:
  /// Refuses updates with `why` until `open`.
  void close(Error why) { why_.store(std::make_shared<const Error>(std::move(why))); }
  void open() { why_.store(nullptr); }
  [[nodiscard]] Result<> check() const {
    const auto why = why_.load();
    return why == nullptr ? Result<>() : fail(*why);
  }

 private:
  Published<Error> why_;  ///< null: open
};

}  // namespace quiver::engine
