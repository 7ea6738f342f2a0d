#include "client/pass.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "client/dispatch_decision.hpp"
#include "client/pause.hpp"
#include "client/renewal.hpp"
#include "core/names.hpp"

namespace ql3 {

namespace {

// A probe that heeds its cancellation ends within this; one that does not is left behind.
constexpr Clock::Length cancel_patience = std::chrono::milliseconds(500);
constexpr Clock::Length give_back_limit = std::chrono::seconds(5);
constexpr int give_back_tries = 3;

}  // namespace

Pass::Pass(const SupervisorOptions& options, Stores stores, const ProbeRegistry& probes,
           std::shared_ptr<ProbeTraffic> traffic, const Tell& listener, Clock& clock,
           const Shutdown& shutdown, const Page& page, Clock::Time claimed)
    : options_(options),
      stores_(stores),
      probes_(probes),
      traffic_(std::move(traffic)),
      listener_(listener),
      clock_(clock),
      shutdown_(shutdown),
      page_(page),
      claimed_(claimed),
      held_(page, options.owner, signal_),
      progress_(page.targets.size(), Progress::waiting),
      reports_(page.targets.size()) {
  for (std::size_t at = 0; at < reports_.size(); ++at) {
    reports_[at].kind = page_.targets[at].target.kind;
    reports_[at].id = page_.targets[at].target.id;
    reports_[at].listed = true;
  }
}

void Pass::run(PassReport& report) {
  const std::stop_callback on_drain(shutdown_.drain, [this] { signal_->notify(); });
  const std::stop_callback on_cancel(shutdown_.cancel, [this] { signal_->notify(); });
  const Renewal renewal(stores_.renewal, held_, signal_, options_.lease, claimed_, clock_,
                        listener_);
  for (std::size_t at = 0; at < held_.size(); ++at) {
    if (shutdown_.drain.stop_requested()) break;
    // What a renewal found lost, or what has no time left, is not begun.
    if (held_.lost(at) || held_.deadline(at) - clock_.now() < HeldPage::margin) continue;
    judge(at);
  }
  give_back_waiting();
  report.targets = std::move(reports_);
  if (!report.error) report.error = error_;
}

void Pass::judge(std::size_t at) {
  progress_[at] = Progress::started;
  const ClaimedTarget& claimed = page_.targets[at];
  const bool is_dispatch = claimed.target.kind == dispatch_kind;
  if (is_dispatch) {
    if (const auto known = decide_unprobed(claimed.target)) {
      commit(at, known->verdict, *known);
      return;
    }
  }
  // Never missing: only kinds with a probe are claimed, and the page was checked for others.
  const ProbeRegistry::Entry& entry = *probes_.find(claimed.target.kind);
  const Clock::Time until = clock_.now() + entry.timeout;
  ProbeFlight flight(entry, claimed.target, entry.timeout, signal_, traffic_);
  const Ending ending = await(flight, at, until);
  ProbeAnswer answer;
  switch (ending) {
    case Ending::answered: answer = flight.answer(); break;
    case Ending::timed_out:
      answer = no_answer(fmt::format("no answer within {}", to_text(entry.timeout)));
      break;
    case Ending::lost:
      answer = no_answer("stopped: the claim is lost or has reached its longest hold");
      break;
    case Ending::late:
      answer = no_answer("stopped: the claim could not be renewed in time");
      break;
    case Ending::cancelled:
      // Our own end says nothing about the target, so it must not count against it.
      progress_[at] = Progress::waiting;
      return;
  }
  commit(at, std::string(to_text(answer.verdict)),
         is_dispatch ? decide_dispatch(answer, claimed.failure_count)
                     : decide(answer, claimed.failure_count));
}

Pass::Ending Pass::await(ProbeFlight& flight, std::size_t at, Clock::Time until) {
  Clock::Time grace_end = Clock::Time::max();
  std::unique_lock lock(signal_->mutex);
  Ending ending = Ending::answered;
  for (;;) {
    if (flight.done()) return Ending::answered;
    const Clock::Time now = clock_.now();
    if (shutdown_.drain.stop_requested() && grace_end == Clock::Time::max()) {
      grace_end = now + options_.grace;
      lock.unlock();
      give_back_waiting();
      lock.lock();
      continue;
    }
    const Clock::Time late = held_.deadline_locked(at) - HeldPage::margin;
    if (shutdown_.cancel.stop_requested() || now >= grace_end) {
      ending = Ending::cancelled;
    } else if (held_.lost_locked(at)) {
      ending = Ending::lost;
    } else if (now >= late) {
      ending = Ending::late;
    } else if (now >= until) {
      ending = Ending::timed_out;
    } else {
      clock_.wait(lock, signal_->changed, std::min({until, late, grace_end}));
      continue;
    }
    break;
  }
  lock.unlock();
  flight.cancel();
  lock.lock();
  const Clock::Time patience = clock_.now() + cancel_patience;
  while (!flight.done() && clock_.now() < patience) {
    clock_.wait(lock, signal_->changed, patience);
  }
  if (!flight.done()) {
    tell(listener_, Level::warning,
         fmt::format("the probe of kind {} ignores its cancellation and is left behind",
                     held_.target(at).kind));
  }
  return ending;
}

void Pass::give_back_waiting() {
  const Clock::Time now = clock_.now();
  std::vector<std::size_t> positions;
  std::vector<Held> targets;
  Clock::Time deadline = Clock::Time::max();
  for (std::size_t at = 0; at < progress_.size(); ++at) {
    if (progress_[at] != Progress::waiting) continue;
    if (held_.deadline(at) <= now) {
      reports_[at].late = true;
      end(at, Outcome::fenced, {}, "not judged: the claim is over");
      continue;
    }
    positions.push_back(at);
    targets.push_back(held_.target(at));
    deadline = std::min(deadline, held_.deadline(at));
  }
  Backoff backoff;
  for (int tries = 1; !positions.empty(); ++tries) {
    const Clock::Length left = deadline - clock_.now();
    try {
      const std::vector<GivenBack> words = stores_.claims.give_back(
          held_.holder(), targets, std::min<Clock::Length>(left, give_back_limit));
      if (words.size() != positions.size()) {
        throw StoreError(StoreCode::malformed, "a target is missing in the answer");
      }
      for (std::size_t i = 0; i < positions.size(); ++i) {
        const bool released = words[i] == GivenBack::released;
        end(positions[i], released ? Outcome::given_back : Outcome::fenced, {}, "not judged");
      }
      return;
    } catch (const StoreError& error) {
      tell(listener_, Level::warning, fmt::format("giving back: {}", error.what()));
      const Clock::Time again = clock_.now() + backoff.next();
      if (error.retryable() && tries < give_back_tries && again < deadline &&
          sleep_until(clock_, again, shutdown_.cancel)) {
        continue;
      }
      remember(error);
      for (const std::size_t at : positions) {
        end(at, Outcome::left, {}, "not judged, and could not be given back");
      }
      return;
    }
  }
}

void Pass::end(std::size_t at, Outcome outcome, const std::string& verdict, const std::string& note,
               bool listed) {
  progress_[at] = Progress::ended;
  held_.let_go(at);
  TargetReport& report = reports_[at];
  report.outcome = outcome;
  report.verdict = verdict;
  report.listed = listed;
  report.note = note;
  if (options_.on_step) options_.on_step();
  const bool bad = outcome == Outcome::failed || outcome == Outcome::fenced;
  tell(
      listener_, bad ? Level::warning : Level::info,
      fmt::format("{} {}: {}{}{}{}", report.kind, report.id, verdict, verdict.empty() ? "" : " -> ",
                  to_text(outcome), note.empty() ? "" : " (" + note + ")"));
}

void Pass::remember(const StoreError& error) {
  if (!error_) error_ = error;
}

}  // namespace ql3
