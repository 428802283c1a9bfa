// A one-member etcd in a folder of its own, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cluster/ledger/etcd_ledger.h"
#include "cluster/ledger/etcd_process.h"
#include "tests/patience.h"
#include "tests/service/client/listener.h"

namespace quiver::cluster {

inline constexpr const char* kNoEtcd = "etcd was not found in PATH: install etcd-server to test it";

inline std::uint16_t free_port() { return client::Listener().endpoint().port; }

inline EtcdLedgerOptions patient(std::vector<client::Endpoint> members) {
  return {.members = std::move(members),
          .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
              patience(std::chrono::seconds(1)))};
}

/// Options of a cluster of one, with free ports.
inline EtcdProcessOptions one_member(const std::filesystem::path& folder) {
  EtcdProcessOptions options{.data_dir = folder, .name = "one"};
  options.client_port = free_port();
  options.peer_port = free_port();
  options.members = {{.name = "one", .host = "127.0.0.1", .peer_port = options.peer_port}};
  return options;
}

class TestFolder {
 public:
  TestFolder() {
    std::string name = testing::TempDir() + "quiver-ledger-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// True once the ledger has a leader.
inline bool serves(Ledger& ledger) {
  const auto end = patience_end(std::chrono::seconds(10));
  while (std::chrono::steady_clock::now() < end) {
    const auto status = ledger.status();
    if (status && status->leader != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

/// Running etcd with a ledger over it.
class EtcdForTest {
 public:
  /// Null if there is no etcd here.
  static std::shared_ptr<EtcdForTest> start() {
    auto etcd = std::make_shared<EtcdForTest>();
    if (!find_program("etcd")) return nullptr;
    auto process = EtcdProcess::start(one_member(etcd->folder_.path() / "etcd"));
    if (!process) ADD_FAILURE() << process.error().to_string();
    if (!process) return nullptr;
    etcd->process_ = std::move(*process);
    etcd->ledger_ = std::make_unique<EtcdLedger>(patient({etcd->process_->endpoint()}));
    EXPECT_TRUE(serves(*etcd->ledger_));
    return etcd;
  }

  [[nodiscard]] EtcdProcess& process() { return *process_; }
  [[nodiscard]] Ledger& ledger() { return *ledger_; }

 private:
  TestFolder folder_;
  std::unique_ptr<EtcdProcess> process_;
  std::unique_ptr<EtcdLedger> ledger_;
};

}  // namespace quiver::cluster
