#include "cluster/ledger/etcd_membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/observe/log.h"
#include "cluster/ledger/etcd_json.h"

namespace quiver::cluster::etcd {
namespace {

using payload::Array;
using payload::Object;
using payload::Value;

std::vector<std::string> strings_of(const Value& value, std::string_view name) {
  const Value* member = value.find(name);
  const Array* found = member == nullptr ? nullptr : member->as_array();
  std::vector<std::string> texts;
  if (found == nullptr) return texts;
  for (const Value& item : *found) {
    if (item.as_string() != nullptr) texts.push_back(*item.as_string());
  }
  return texts;
}

const ListedMember* find_member(const std::vector<ListedMember>& members,
                                std::string_view peer_url) {
  const auto found = std::ranges::find_if(members, [&](const ListedMember& member) {
    return std::ranges::find(member.peer_urls, peer_url) != member.peer_urls.end();
  });
  return found == members.end() ? nullptr : &*found;
}

Result<> remove_member(Gateway& others, std::uint64_t id) {
  const Object body = {{"ID", Value(std::to_string(id))}};
  QV_TRY(others.post("/v3/cluster/member/remove", payload::to_json(Value(body)), Repeat::kNo));
  return {};
}

Result<> add_member(Gateway& others, const std::string& peer_url) {
  const Object body = {{"peerURLs", Value(Array{Value(peer_url)})}};
  QV_TRY(others.post("/v3/cluster/member/add", payload::to_json(Value(body)), Repeat::kNo));
  return {};
}

}  // namespace

Result<std::vector<ListedMember>> read_members(const Value& answer) {
  const Value* listed = answer.find("members");
  const Array* items = listed == nullptr ? nullptr : listed->as_array();
  if (items == nullptr) {
    return fail(Code::kDeadlineExceeded, "the ledger's answer has no members");
  }
  std::vector<ListedMember> members;
  for (const Value& item : *items) {
    members.push_back({.id = read_id(item, "ID"),
                       .name = read_text(item, "name"),
                       .peer_urls = strings_of(item, "peerURLs"),
                       .client_urls = strings_of(item, "clientURLs")});
  }
  return members;
}

Joining how_to_join(const std::vector<ListedMember>& members, std::string_view peer_url) {
  const ListedMember* self = find_member(members, peer_url);
  if (self == nullptr) return Joining::kAdd;
  if (!self->client_urls.empty()) return Joining::kReplace;
  return self->name.empty() ? Joining::kStart : Joining::kFound;
}

bool has_data(const std::filesystem::path& data_dir) {
  std::error_code error;
  const std::filesystem::directory_iterator logs(data_dir / "member" / "wal", error);
  return !error && logs != std::filesystem::directory_iterator();
}

Result<InitialState> prepare_to_join(Gateway& others, const std::string& peer_url,
                                     const std::function<Result<>()>& may_found) {
  const auto answer = others.post("/v3/cluster/member/list", "{}", Repeat::kYes);
  // A founder that has begun takes connections, and answers once a majority runs.
  if (!answer && answer.error().code() == Code::kUnavailable) {
    QV_TRY(may_found());
    return InitialState::kNew;
  }
  if (!answer) return fail(answer.error());
  QV_TRY(const std::vector<ListedMember> members, read_members(*answer));
  const Joining joining = how_to_join(members, peer_url);
  if (joining == Joining::kFound) return InitialState::kNew;
  if (joining == Joining::kStart) return InitialState::kExisting;
  if (joining == Joining::kReplace) {
    log(LogLevel::kWarning,
        fmt::format("the ledger's data of this node is lost: {} joins as a new member", peer_url));
    QV_TRY(remove_member(others, find_member(members, peer_url)->id));
  }
  QV_TRY(add_member(others, peer_url));
  return InitialState::kExisting;
}

}  // namespace quiver::cluster::etcd
