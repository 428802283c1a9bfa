// Which members a configuration object may have, and of which types. Checks and copies in one pass,
// so that clients get back no unknown name and no null.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "service/json/element.h"

namespace quiver::service::json {

enum class ValueType : std::uint8_t { kAny, kBool, kUnsigned, kNumber, kString, kObject };

struct Shape;

struct ShapeMember {
  std::string_view name;
  ValueType type = ValueType::kAny;
  const Shape* shape = nullptr;  ///< for kObject; null: any members
  double min = 0;                ///< for kUnsigned and kNumber; both ends are allowed
  double max = std::numeric_limits<double>::infinity();
  std::string_view alias = {};                    ///< another spelling, echoed under `name`
  std::span<const std::string_view> values = {};  ///< for kString: the allowed ones; empty: any
  std::string_view or_text = {};                  ///< a string accepted in the value's place
  bool required = false;
  /// Reason why the feature is not supported; "" if it is. With a reason, every value except false
  /// is an error, 400.
  std::string_view refused = {};
  const Shape* each = nullptr;  ///< for kObject: of each value, under any name
  std::string_view never = {};  ///< for kString: a value that other members allow; 422 here
};

struct Shape {
  std::span<const ShapeMember> members;
  bool is_choice = false;  ///< exactly one of the members
};

extern const Shape kHnswShape;
extern const Shape kQuantizationShape;
extern const Shape kOptimizersShape;
extern const Shape kWalShape;
extern const Shape kVectorShape;
extern const Shape kSparseVectorShape;
/// Members that a change of a dense vector may have.
extern const Shape kVectorPatchShape;
extern const Shape kStrictModeShape;
/// The body of a creation, without `vectors` and `sparse_vectors`.
extern const Shape kCollectionShape;
/// Members of `params` in a change of a collection.
extern const Shape kCollectionParamsShape;

/// Appends "name":value for each known member of `object` that is not null, with a leading comma
/// where `out` does not end in '{'. 400 for a wrong type, 422 out of range.
[[nodiscard]] Decoded<> append_members(std::string& out, Object object, const Shape& shape,
                                       const Path& path);
/// Appends the members as an object. 400 also for a missing required member or choice.
[[nodiscard]] Decoded<> append_shaped(std::string& out, Object object, const Shape& shape,
                                      const Path& path);

}  // namespace quiver::service::json
