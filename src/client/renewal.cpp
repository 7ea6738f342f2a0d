#include "client/renewal.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "client/pause.hpp"
#include "client/store_error.hpp"

namespace ql3 {

Renewal::Renewal(ClaimStore& store, HeldPage& page, std::shared_ptr<Signal> signal,
                 Milliseconds lease, Clock::Time claimed, Clock& clock, Tell listener)
    : store_(store),
      page_(page),
      signal_(std::move(signal)),
      lease_(lease),
      claimed_(claimed),
      clock_(clock),
      listener_(std::move(listener)),
      thread_([this](std::stop_token stop) { run(stop); }) {}

bool Renewal::wait(std::stop_token stop, Clock::Time until) {
  const std::stop_callback wake(stop, [this] { signal_->notify(); });
  std::unique_lock lock(signal_->mutex);
  while (!stop.stop_requested() && clock_.now() < until) {
    clock_.wait(lock, signal_->changed, until);
  }
  return !stop.stop_requested();
}

void Renewal::run(std::stop_token stop) {
  const Clock::Length period = lease_ / 3;
  Clock::Time due = claimed_ + period;
  Backoff backoff;
  while (wait(stop, due)) {
    const Clock::Time sent = clock_.now();
    const HeldPage::Kept kept = page_.kept(sent);
    if (kept.targets.empty() || renew_once(kept, sent)) {
      due = sent + period;
      backoff = Backoff();
    } else {
      // A pause of a sixth at most leaves several tries before the lease is over.
      due = clock_.now() + std::min(backoff.next(), period / 2);
    }
  }
}

bool Renewal::renew_once(const HeldPage::Kept& kept, Clock::Time sent) {
  try {
    const Clock::Length limit =
        std::min<Clock::Length>({kept.deadline - sent, lease_ / 3, std::chrono::seconds(5)});
    const std::vector<Renewed> words =
        store_.renew_page(page_.holder(), kept.targets, lease_, limit);
    if (words.size() != kept.targets.size()) {
      throw StoreError(StoreCode::malformed, "a renewal is missing in the answer");
    }
    const Clock::Time now = clock_.now();
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == Renewed::renewed) {
        page_.renewed(kept.positions[i], now, sent + lease_);
      } else {
        page_.fenced(kept.positions[i]);
      }
    }
    return true;
  } catch (const std::exception& error) {
    tell(listener_, Level::warning, fmt::format("renewal: {}", error.what()));
    return false;
  }
}

}  // namespace ql3
