#include "client/held_page.hpp"

#include <algorithm>
#include <utility>

namespace ql3 {

HeldPage::HeldPage(const Page& page, const std::string& owner, std::shared_ptr<Signal> signal)
    : holder_{owner, page.token}, signal_(std::move(signal)) {
  for (const ClaimedTarget& one : page.targets) {
    targets_.push_back({{one.target.kind, one.target.id, one.version}, page.deadline});
  }
}

Clock::Time HeldPage::deadline(std::size_t at) const {
  const std::lock_guard lock(signal_->mutex);
  return targets_[at].deadline;
}

bool HeldPage::lost(std::size_t at) const {
  const std::lock_guard lock(signal_->mutex);
  return targets_[at].lost;
}

HeldPage::Kept HeldPage::kept(Clock::Time now) const {
  const std::lock_guard lock(signal_->mutex);
  Kept all{{}, {}, Clock::Time::max()};
  for (std::size_t at = 0; at < targets_.size(); ++at) {
    const Entry& entry = targets_[at];
    if (!entry.mine || entry.lost || entry.deadline <= now) continue;
    all.positions.push_back(at);
    all.targets.push_back(entry.held);
    all.deadline = std::min(all.deadline, entry.deadline);
  }
  return all;
}

void HeldPage::renewed(std::size_t at, Clock::Time now, Clock::Time deadline) {
  const std::lock_guard lock(signal_->mutex);
  Entry& entry = targets_[at];
  // An answer that comes after the end says nothing new: the pass has acted on the end already.
  if (!entry.mine || entry.deadline <= now) return;
  entry.deadline = std::max(entry.deadline, deadline);
  signal_->changed.notify_all();
}

void HeldPage::fenced(std::size_t at) {
  const std::lock_guard lock(signal_->mutex);
  if (!targets_[at].mine) return;
  targets_[at].lost = true;
  signal_->changed.notify_all();
}

void HeldPage::let_go(std::size_t at) {
  const std::lock_guard lock(signal_->mutex);
  targets_[at].mine = false;
  signal_->changed.notify_all();
}

}  // namespace ql3
