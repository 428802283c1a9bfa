// Where the state of an import is kept.
#pragma once

#include <optional>
#include <string>

#include "app/import/state.h"
#include "base/result.h"

namespace quiver::app {

class StateStore {
 public:
  virtual ~StateStore() = default;

  [[nodiscard]] virtual Result<std::optional<ImportState>> load() const = 0;
  virtual Result<> save(const ImportState& state) = 0;
  /// For people: "in FILE".
  [[nodiscard]] virtual std::string place() const = 0;
};

class StateFile final : public StateStore {
 public:
  explicit StateFile(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] Result<std::optional<ImportState>> load() const override {
    return load_state(path_);
  }
  Result<> save(const ImportState& state) override { return save_state(path_, state); }
  [[nodiscard]] std::string place() const override { return "in " + path_; }

 private:
  const std::string path_;
};

}  // namespace quiver::app
