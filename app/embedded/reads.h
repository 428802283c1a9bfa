// Requests to read, in JSON, and their answers.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/database.h"
#include "service/json/error.h"

namespace quiver::embedded {

/// What a malformed body is to a caller without HTTP: an error with a code in place of a status.
[[nodiscard]] Error error_of(const service::ApiError& error);

/// Answers `verb`, one that quiver_read names, about the collection `name`; returns JSON.
[[nodiscard]] Result<std::string> read(engine::Database& database, engine::Collection& collection,
                                       const std::string& name, std::string_view verb,
                                       std::string body);

}  // namespace quiver::embedded
