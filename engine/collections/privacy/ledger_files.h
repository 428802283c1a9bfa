// The files of private sums, in a directory `private` of their collection
// (docs/formats/private-sums.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "engine/model/private_sums.h"
#include "engine/privacy/release.h"

namespace quiver::engine {

/// What is spent, and on which releases. Deleted ones are in `spent` alone.
struct PrivacyLedger {
  std::optional<PrivacyAmount> budget;
  PrivacyAmount spent;
  std::uint64_t last_number = 0;      ///< of a release; none is used twice
  std::vector<ReleaseInfo> releases;  ///< by name; `is_lost` is not in the file
};

/// Calls that write exclude each other; the caller sees to that. Makes the directory with the first
/// ledger.
class LedgerFiles {
 public:
  static constexpr std::string_view kDirectory = "private";

  /// `collection`: the directory of the collection.
  explicit LedgerFiles(std::unique_ptr<Directory> collection)
      : collection_(std::move(collection)) {}

  /// Reads the ledger, an empty one if there has been none. Removes drafts and releases that it
  /// does not list. kDataLoss if it is damaged, or missing beside releases.
  Result<PrivacyLedger> open();

  /// Durable on return. After an error the disk may have either ledger.
  Result<> save(const PrivacyLedger& ledger);
  Result<> save_release(std::uint64_t number, const Release& release);
  [[nodiscard]] bool has_release(std::uint64_t number) const;
  /// kDataLoss, naming the file, if it is damaged.
  [[nodiscard]] Result<Release> load_release(std::uint64_t number) const;
  /// Where it is there.
  Result<> remove_release(std::uint64_t number);

 private:
  [[nodiscard]] Result<PrivacyLedger> load() const;
  [[nodiscard]] Result<> check_is_newest(const PrivacyLedger& ledger,
                                         std::span<const DirectoryEntry> entries) const;
  Result<> remove_strays(const PrivacyLedger& ledger, std::span<const DirectoryEntry> entries);

  const std::unique_ptr<Directory> collection_;
  std::unique_ptr<Directory> directory_;  ///< nullptr: there has been no ledger
};

}  // namespace quiver::engine
