// Stores the state of an import.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/import/run/state.h"
#include "base/result.h"

namespace quiver::app {

class StateStore {
 public:
  virtual ~StateStore() = default;

  [[nodiscard]] virtual Result<std::optional<ImportState>> load() const = 0;
  virtual Result<> save(const ImportState& state) = 0;
  /// The place for messages: "in FILE".
  [[nodiscard]] virtual std::string place() const = 0;
};

/// What happens to the file when the import finishes.
enum class WhenFinished : std::uint8_t { kKeep, kRemove };

class StateFile final : public StateStore {
 public:
  StateFile(std::string path, WhenFinished when_finished)
      : path_(std::move(path)), when_finished_(when_finished) {}

  [[nodiscard]] Result<std::optional<ImportState>> load() const override {
    return load_state(path_);
  }
  Result<> save(const ImportState& state) override {
    const bool has_no_use = state.finished && when_finished_ == WhenFinished::kRemove;
    return has_no_use ? remove_state(path_) : save_state(path_, state);
  }
  [[nodiscard]] std::string place() const override { return "in " + path_; }

 private:
  const std::string path_;
  const WhenFinished when_finished_;
};

}  // namespace quiver::app
