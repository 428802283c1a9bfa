// Archives of snapshots that are to become collections of the cluster.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/io/file.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cluster/node.h"
#include "engine/snapshots.h"

namespace quiver::cluster {

/// The archives of one node, in the folder `restores` of its data directory. Each has the id that
/// the collection is to have. An archive is complete, and on stable storage, once it has its name.
///
/// Beside the file its contents are unpacked already, until the process ends. So to put the
/// collection in place takes one change of the catalog, or after a restart the unpacking.
/// Thread-safe.
class Restores {
 public:
  /// `peers` outlives this.
  explicit Restores(PeerClient& peers) : peers_(peers) {}
  ~Restores() { stop(); }
  Restores(const Restores&) = delete;
  Restores& operator=(const Restores&) = delete;

  /// Called once. Removes what never became complete. `local` outlives the call of `stop`.
  Result<> start(const std::string& data_dir, engine::Snapshots& local);
  /// Ends what is on its way; complete archives stay.
  void stop() QV_EXCLUDES(mutex_);

  /// An archive that arrives here. It is kept while the draft lives, whatever the ledger says.
  class Draft {
   public:
    Draft(Restores& owner, std::string id, std::string name,
          std::unique_ptr<engine::SnapshotReceiver> receiver, std::unique_ptr<WritableFile> file);
    ~Draft();
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;
    [[nodiscard]] const std::string& id() const { return id_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    /// May block.
    [[nodiscard]] Result<> write(std::string_view bytes);
    /// Checks the archive; it is complete then.
    [[nodiscard]] Result<> finish();

   private:
    Restores& owner_;
    const std::string id_;
    const std::string name_;
    std::unique_ptr<engine::SnapshotReceiver> receiver_;
    std::unique_ptr<WritableFile> file_;
    bool is_complete_ = false;
  };
  /// `must_fit`: refused if a collection `name` is here that it does not fit.
  [[nodiscard]] Result<std::unique_ptr<Draft>> begin(std::string id, const std::string& name,
                                                     const std::string& checksum, bool must_fit);

  /// True: the archive is complete here. Otherwise it is fetched from the node at `peer`, and the
  /// call returns false after a second at most; then it is made again. An error: it cannot be had.
  [[nodiscard]] Result<bool> obtain(const std::string& id, const std::string& name,
                                    const std::string& peer, bool must_fit) QV_EXCLUDES(mutex_);
  /// Of a complete archive. kNotFound if it is not here.
  [[nodiscard]] Result<engine::CollectionConfig> config(const std::string& id) QV_EXCLUDES(mutex_);
  [[nodiscard]] Result<std::unique_ptr<engine::SnapshotReader>> read(const std::string& id) const;
  [[nodiscard]] bool has(const std::string& id) const;
  /// Makes a complete archive the collection `name`: all or nothing. The archive stays.
  [[nodiscard]] Result<> install(const std::string& id, const std::string& name)
      QV_EXCLUDES(mutex_);
  /// Complete archives without a draft.
  [[nodiscard]] std::vector<std::string> ids() const QV_EXCLUDES(mutex_);
  void remove(const std::string& id) QV_EXCLUDES(mutex_);

 private:
  struct Unpacked {
    std::unique_ptr<engine::SnapshotReceiver> receiver;
    engine::CollectionConfig config;
  };
  struct Fetch {
    bool is_over = false;
    Result<> outcome;
    std::thread thread;
  };

  [[nodiscard]] Result<> fetch(const std::string& id, const std::string& name,
                               const std::string& peer, bool must_fit);
  [[nodiscard]] Result<Unpacked> unpack(const std::string& id, const std::string& name);
  [[nodiscard]] std::string path_of(const std::string& id) const;
  void keep(const std::string& id, Unpacked unpacked) QV_EXCLUDES(mutex_);
  void discard(const std::string& id) QV_EXCLUDES(mutex_);

  PeerClient& peers_;
  engine::Snapshots* local_ = nullptr;
  std::unique_ptr<Directory> folder_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopped_ QV_GUARDED_BY(mutex_) = false;
  std::map<std::string, Unpacked> unpacked_ QV_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Fetch>> fetches_ QV_GUARDED_BY(mutex_);
  std::set<std::string> drafts_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::cluster
