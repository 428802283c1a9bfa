// What a request needs, what a caller may do, and whether the one allows the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/variant.h"

namespace quiver::service::access {

/// What a request needs. Each route and each verb names one.
enum class Access : std::uint8_t {
  kOpen,         ///< nothing, not even a key
  kAny,          ///< any valid key or token; the answer shows only what its caller may read
  kRead,         ///< to read the collection
  kReadExtras,   ///< to read the collection and more than its points: snapshots
  kWrite,        ///< to change points of the collection
  kWriteExtras,  ///< to change more than its points: payload indexes, vector fields, snapshots
  kGlobalRead,   ///< to read what belongs to no collection: metrics, the list of full snapshots
  kManage,       ///< to change everything: collections, aliases, the server
};

inline constexpr Access kAllAccess[] = {Access::kOpen,       Access::kAny,   Access::kRead,
                                        Access::kReadExtras, Access::kWrite, Access::kWriteExtras,
                                        Access::kGlobalRead, Access::kManage};

/// True for a need that is about one collection.
[[nodiscard]] bool is_about_a_collection(Access needed);
/// "write_extras"
[[nodiscard]] std::string_view to_string(Access needed);

/// What a token allows in one collection.
enum class Grant : std::uint8_t {
  kRead,             ///< "r"
  kReadWrite,        ///< "rw"
  kPointsReadWrite,  ///< "prw": points, but neither snapshots nor payload indexes nor fields
};

struct CollectionGrant {
  std::string collection;  ///< a name or an alias, compared with the name that a request uses
  Grant grant = Grant::kRead;
};

/// A token is valid only while a point of a collection has all these payload values.
struct ValueExists {
  using Value = Variant<std::string, std::int64_t, bool>;
  struct Match {
    std::string key;  ///< path in the payload
    Value value;
  };
  std::string collection;
  std::vector<Match> matches;
};

/// How a caller proved who it is.
enum class KeyKind : std::uint8_t { kNone, kApiKey, kReadOnlyApiKey, kToken };

/// "api_key"
[[nodiscard]] std::string_view to_string(KeyKind kind);

/// The caller of a request. Cheap to copy.
class Principal {
 public:
  enum class Level : std::uint8_t {
    kNobody,       ///< may do what needs kOpen
    kCollections,  ///< what its grants say
    kGlobalRead,   ///< reads everything
    kManage,       ///< does everything
  };
  /// What a token says of its bearer.
  struct Claims {
    std::vector<CollectionGrant> grants;  ///< for kCollections
    std::optional<ValueExists> value_exists;
    std::string subject;  ///< for the audit log; empty: none
  };

  /// Nobody.
  Principal() = default;
  explicit Principal(Level level, KeyKind kind = KeyKind::kNone,
                     std::shared_ptr<const Claims> claims = nullptr)
      : level_(level), kind_(kind), claims_(std::move(claims)) {}

  [[nodiscard]] Level level() const { return level_; }
  [[nodiscard]] KeyKind kind() const { return kind_; }
  /// "" if there is none.
  [[nodiscard]] std::string_view subject() const;
  /// What must exist for the caller's token to be valid; null: nothing.
  [[nodiscard]] const ValueExists* value_exists() const;

  /// kPermissionDenied, with Qdrant's text, if the caller may not do what needs `needed` in
  /// `collection`. Without a collection, a need about one stands for all collections.
  [[nodiscard]] Result<> check(Access needed, std::string_view collection = {}) const;
  [[nodiscard]] bool can_read(std::string_view collection) const {
    return check(Access::kRead, collection).has_value();
  }

 private:
  [[nodiscard]] Result<> check_grant(Access needed, std::string_view collection) const;

  Level level_ = Level::kNobody;
  KeyKind kind_ = KeyKind::kNone;
  std::shared_ptr<const Claims> claims_;
};

}  // namespace quiver::service::access
