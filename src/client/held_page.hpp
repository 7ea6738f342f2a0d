// What one pass still holds of its page, shared by the pass and its renewal.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "client/claim_page.hpp"
#include "client/claims.hpp"
#include "client/clock.hpp"

namespace ql3 {

// A mutex and what is waited for under it. Shared by pointer, because a probe that ignores its
// cancellation may signal after the pass is over.
struct Signal {
  std::mutex mutex;
  std::condition_variable changed;

  void notify() {
    const std::lock_guard lock(mutex);
    changed.notify_all();
  }
};

// Positions are those of the page. A target is held from the claim until it is let go; it is lost
// when a renewal was fenced. Every change notifies the signal.
// Thread rule: every method may be called from any thread, without the signal's mutex.
class HeldPage {
 public:
  // Nothing is started with less than this left, and a probe is told to stop when this is left.
  static constexpr Clock::Length margin = std::chrono::milliseconds(250);

  HeldPage(const Page& page, const std::string& owner, std::shared_ptr<Signal> signal);

  const Holder& holder() const noexcept { return holder_; }
  const Held& target(std::size_t at) const noexcept { return targets_[at].held; }
  std::size_t size() const noexcept { return targets_.size(); }

  // By our own clock the claim is over from here on.
  Clock::Time deadline(std::size_t at) const;
  bool lost(std::size_t at) const;

  struct Kept {
    std::vector<std::size_t> positions;
    std::vector<Held> targets;
    // The first of their deadlines.
    Clock::Time deadline;
  };
  // All that is held, not lost, and not over at `now`: what a renewal speaks about.
  Kept kept(Clock::Time now) const;

  // The renewal's findings. One that was let go meanwhile ignores them; a deadline never moves
  // back, and once over it does not move at all.
  void renewed(std::size_t at, Clock::Time now, Clock::Time deadline);
  void fenced(std::size_t at);

  // Settled, concluded, given back, or given up: no longer renewed.
  void let_go(std::size_t at);

  // The same, while the caller holds the signal's mutex.
  bool lost_locked(std::size_t at) const { return targets_[at].lost; }
  Clock::Time deadline_locked(std::size_t at) const { return targets_[at].deadline; }

 private:
  struct Entry {
    Held held;
    Clock::Time deadline;
    bool mine = true;
    bool lost = false;
  };

  const Holder holder_;
  const std::shared_ptr<Signal> signal_;
  std::vector<Entry> targets_;  // guarded by signal_->mutex, but for Entry::held
};

}  // namespace ql3
