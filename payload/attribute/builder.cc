#include "payload/attribute/builder.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "payload/attribute/path_values.h"
#include "payload/json/path.h"

namespace quiver::payload {
namespace {

/// Part of all bytes that the strings of one path may take.
constexpr std::uint64_t kTextShare = 4;
/// Keys of one object that are looked at.
constexpr std::size_t kMaxMembers = 256;
constexpr std::string_view kTooManyPaths = "there are too many paths";

/// A place in documents: what is below it, by key and, for arrays, by element.
struct Place {
  std::vector<std::pair<std::string, std::unique_ptr<Place>>> members;
  std::unique_ptr<Place> elements;
  std::string path;
  PathValues* values = nullptr;  ///< nullptr: not kept
  std::uint32_t n_objects = 0;   ///< of the elements, in the row that is added now

  Place* find(std::string_view key) const {
    for (const auto& [name, place] : members) {
      if (name == key) return place.get();
    }
    return nullptr;
  }
};

}  // namespace

struct AttributeBuilder::State {
  explicit State(const AttributeLimits& the_limits) : limits(the_limits) {}

  Place* member_of(Place& place, const std::string& key, std::uint32_t depth) {
    if (Place* known = place.find(key)) return known;
    if (!is_plain_key(key)) return nullptr;
    if (depth >= limits.max_depth || place.members.size() == kMaxMembers) {
      leave_out(place.path, std::string(kMoreBelow));
      return nullptr;
    }
    auto added = std::make_unique<Place>();
    added->path = place.path.empty() ? key : place.path + "." + key;
    if (paths.size() < limits.max_paths) {
      paths.push_back(std::make_unique<PathValues>(added->path));
      added->values = paths.back().get();
    } else {
      leave_out(added->path, std::string(kTooManyPaths));
    }
    return place.members.emplace_back(key, std::move(added)).second.get();
  }

  void leave_out(const std::string& path, std::string reason) {
    if (left_out.size() >= kMaxLeftOutPaths) return;
    const auto is_this = [&](const LeftOutPath& other) { return other.path == path; };
    if (std::none_of(left_out.begin(), left_out.end(), is_this)) {
      left_out.push_back({path, std::move(reason)});
    }
  }

  /// `number`: which of the objects that the path of `place` enters last `object` is, or lies in.
  void visit_object(Place& place, const Object& object, std::uint32_t depth, std::uint32_t number) {
    for (const Member& member : object) {
      Place* below = member_of(place, member.key, depth);
      if (below == nullptr) continue;
      if (below->values != nullptr) below->values->add_root(n_rows, member.value, number);
      visit_inside(*below, member.value, depth + 1, number);
    }
  }

  void visit_inside(Place& place, const Value& value, std::uint32_t depth, std::uint32_t number) {
    if (const Object* object = value.as_object()) {
      return visit_object(place, *object, depth, number);
    }
    const Array* array = value.as_array();
    if (array == nullptr) return;
    for (const Value& element : *array) {
      const Object* object = element.as_object();
      if (object == nullptr) continue;
      Place& elements = elements_of(place);
      visit_object(elements, *object, depth, elements.n_objects++);
    }
  }

  Place& elements_of(Place& place) {
    if (place.elements != nullptr) return *place.elements;
    place.elements = std::make_unique<Place>();
    place.elements->path = place.path + "[]";
    with_objects.push_back(place.elements.get());
    if (object_counts.size() < limits.max_paths) {
      object_counts.push_back(std::make_unique<PathValues>(place.elements->path));
      place.elements->values = object_counts.back().get();
    } else {
      leave_out(place.elements->path, std::string(kTooManyPaths));
    }
    return *place.elements;
  }

  void end_row() {
    for (Place* place : with_objects) {
      const std::int64_t n = std::min(std::exchange(place->n_objects, 0), kMaxObjects + 1);
      if (n != 0 && place->values != nullptr) place->values->add_root(n_rows, Value(n), 0);
    }
    ++n_rows;
  }

  const AttributeLimits limits;
  std::uint32_t n_rows = 0;
  Place root;
  std::vector<std::unique_ptr<PathValues>> paths;
  std::vector<std::unique_ptr<PathValues>> object_counts;  ///< of paths that end in `[]`
  std::vector<Place*> with_objects;                        ///< elements of arrays of objects
  std::vector<LeftOutPath> left_out;
};

AttributeBuilder::AttributeBuilder(const AttributeLimits& limits)
    : state_(std::make_unique<State>(limits)) {}
AttributeBuilder::~AttributeBuilder() = default;

void AttributeBuilder::add(const Value& document) {
  if (const Object* object = document.as_object()) {
    state_->visit_object(state_->root, *object, 0, 0);
  }
  state_->end_row();
}

AttributeSet AttributeBuilder::finish() {
  std::vector<AttributeView> all;
  for (auto* group : {&state_->paths, &state_->object_counts}) {
    for (auto& values : *group) {
      all.push_back(values->finish(state_->n_rows, state_->limits.max_bytes / kTextShare));
      values.reset();
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const AttributeView& a, const AttributeView& b) {
    return a.n_bytes() < b.n_bytes();
  });
  AttributeSet set;
  set.left_out = std::move(state_->left_out);
  std::uint64_t n_bytes = 0;
  for (auto& attribute : all) {
    n_bytes += attribute.n_bytes();
    if (n_bytes <= state_->limits.max_bytes) {
      set.attributes.push_back(std::move(attribute));
    } else if (set.left_out.size() < kMaxLeftOutPaths) {
      set.left_out.push_back({attribute.path, "its values take too many bytes"});
    }
  }
  std::sort(set.attributes.begin(), set.attributes.end(),
            [](const AttributeView& a, const AttributeView& b) { return a.path < b.path; });
  return set;
}

}  // namespace quiver::payload
