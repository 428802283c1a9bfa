// An index of FAISS as a source of an import.
#pragma once

#include <string>

#include "base/result.h"

namespace quiver::app {

/// Converts a file of FAISS to a folder that is imported like an export. The folder stays until
/// `finish`, so that an interrupted import goes on.
class FaissSource {
 public:
  /// `text`: [NAME=]FILE. The folder is COLLECTION.faiss-import in the current directory. One that
  /// was made from the same file is used again, one from another is replaced.
  [[nodiscard]] static Result<FaissSource> open(const std::string& text,
                                                const std::string& collection);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Removes the folder.
  void finish() const;

 private:
  explicit FaissSource(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace quiver::app
