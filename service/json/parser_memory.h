// What a thread keeps of the parsers of JSON bodies.
#pragma once

namespace quiver::service::json {

/// Frees at its end the parser of a large body that was parsed on this thread: it takes eight times
/// the memory of the body, and the thread may parse no other body for long.
class LargeParserScope {
 public:
  LargeParserScope() = default;
  LargeParserScope(const LargeParserScope&) = delete;
  LargeParserScope& operator=(const LargeParserScope&) = delete;
  ~LargeParserScope();
};

}  // namespace quiver::service::json
