#include "client/dispatch_invocation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "client/pause.hpp"
#include "client/text.hpp"
#include "core/limits.hpp"

namespace ql3 {

namespace {

// Sent, and nobody can say whether it was done: no answer, one that is not understood, or an error
// that may have come after the commit.
bool leaves_doubt(const StoreError& error) noexcept {
  return error.in_doubt() || error.code() == StoreCode::malformed ||
         error.code() == StoreCode::shutting_down || error.code() == StoreCode::failed;
}

DispatchReport report_of(DispatchEnd end, std::string detail) {
  DispatchReport report;
  report.end = end;
  report.detail = std::move(detail);
  return report;
}

}  // namespace

Invocation::Invocation(DispatchStore& store, DispatchStore& extending,
                       const DispatchOptions& options, const Tell& listener, Clock& clock,
                       const DispatchRequest& request, const DispatchStop& stop)
    : store_(store),
      extending_(extending),
      options_(options),
      listener_(listener),
      clock_(clock),
      request_(request),
      stop_(stop),
      storage_(store, request_, token_, options.answer_limit, listener, clock),
      deadline_(clock.now() + options.deadline) {}

Clock::Length Invocation::limit() const {
  return std::min<Clock::Length>(options_.answer_limit, deadline_ - clock_.now());
}

bool Invocation::pause(Clock::Length length) {
  const Clock::Time until = clock_.now() + length;
  return until < deadline_ && sleep_until(clock_, until, stop_.stopping);
}

DispatchReport Invocation::run(const DispatchCall& call) {
  if (auto ended = claim()) return *std::move(ended);
  if (auto ended = permit()) return *std::move(ended);
  CallResult result;
  if (auto ended = make_call(call, result)) return *std::move(ended);
  return store(result);
}

std::optional<DispatchReport> Invocation::claim() {
  Backoff backoff;
  std::optional<StoreError> last;
  while (!stop_.stopping.stop_requested() && clock_.now() < deadline_) {
    try {
      return claim_ended(store_.claim(request_, token_, limit()));
    } catch (const StoreError& error) {
      if (!latch_.is_own_process()) return leave();
      store_.drop();
      tell(listener_, Level::warning, fmt::format("claim: {}", error.what()));
      claim_in_doubt_ |= leaves_doubt(error);
      last = error;
      if (!error.retryable() && !leaves_doubt(error)) break;
    }
    if (!pause(backoff.next())) break;
  }
  return claim_given_up(last ? &*last : nullptr);
}

std::optional<DispatchReport> Invocation::claim_ended(const ClaimAnswer& answer) {
  switch (answer.verdict) {
    case ClaimVerdict::recorded: claimed_at_ = answer.place; return std::nullopt;
    case ClaimVerdict::released: {
      // Recovery was faster than the answer to an earlier try. The token is spent for ever.
      latch_.give_up();
      DispatchReport report = report_of(DispatchEnd::not_sent, answer.detail);
      report.what = outcome::not_sent;
      report.stored = true;
      return report;
    }
    case ClaimVerdict::identity_conflict:
      free_unanswered_claim();
      return report_of(DispatchEnd::identity_conflict, answer.detail);
    case ClaimVerdict::concluded:
      return report_of(DispatchEnd::concluded,
                       answer.detail.empty()
                           ? fmt::format("the item is {}", answer.state)
                           : fmt::format("the item is {}: {}", answer.state, answer.detail));
    case ClaimVerdict::foreign:
      free_unanswered_claim();
      return report_of(DispatchEnd::foreign, answer.detail);
    case ClaimVerdict::halted:
      free_unanswered_claim();
      return report_of(DispatchEnd::halted, answer.detail);
  }
  return report_of(DispatchEnd::foreign, {});
}

DispatchReport Invocation::claim_given_up(const StoreError* error) {
  DispatchReport report = report_of(DispatchEnd::refused, {});
  report.what = outcome::not_sent;
  if (error != nullptr) report.error = *error;
  if (error == nullptr || stop_.stopping.stop_requested()) {
    report.end = DispatchEnd::not_sent;
    report.detail = "stopped before the claim was answered";
  }
  free_unanswered_claim();
  return report;
}

// A try of ours without an answer may have taken the item, or may do so when it arrives later.
// Giving it back is a courtesy with a limit: what stays behind has no permission, and recovery
// concludes it as not sent.
void Invocation::free_unanswered_claim() {
  latch_.give_up();
  if (!claim_in_doubt_) return;
  storage_.keep_not_sent("its claim was never answered", nullptr, stop_.detaching,
                         clock_.now() + options_.answer_limit);
}

std::optional<DispatchReport> Invocation::permit() {
  Backoff backoff;
  do {
    if (!latch_.is_own_process()) return leave();
    if (stop_.stopping.stop_requested()) {
      return give_up(DispatchEnd::not_sent, "stopped before the call");
    }
    permit_asked_ = clock_.now();
    if (permit_asked_ >= deadline_) break;
    try {
      permit_sent_ = true;
      const PermitAnswer answer = store_.permit(
          request_, token_, permit_,
          std::min<Clock::Length>(limit(), Clock::Length(request_.observe_after) / 2));
      if (!answer.granted) return give_up(DispatchEnd::not_sent, "the permission was refused");
      if (is_behind(answer.place, claimed_at_)) {
        return give_up(DispatchEnd::not_sent,
                       "the server's log went backwards between claim and permission: it was "
                       "rolled back or is another one");
      }
      latch_.arm(permit_asked_ + Clock::Length(request_.observe_after) / 2);
      return std::nullopt;
    } catch (const StoreError& error) {
      if (!latch_.is_own_process()) return leave();
      store_.drop();
      tell(listener_, Level::warning, fmt::format("permit: {}", error.what()));
      if (auto ended = permit_failed(error)) return ended;
    }
  } while (pause(backoff.next()));
  return give_up(DispatchEnd::not_sent, "the permission was not had in time");
}

// Nothing when the permit may be asked again under the same id: the server has said, in so many
// words, that it did nothing, or nothing ever reached it.
std::optional<DispatchReport> Invocation::permit_failed(const StoreError& error) {
  if (leaves_doubt(error)) {
    return give_up(DispatchEnd::not_sent, "the permission was not answered", &error);
  }
  if (error.code() == StoreCode::not_possible) {
    return give_up(DispatchEnd::halted, "dispatch is halted", &error);
  }
  if (!error.retryable()) {
    return give_up(DispatchEnd::refused, "the permission was refused", &error);
  }
  return std::nullopt;
}

DispatchReport Invocation::give_up(DispatchEnd end, const std::string& why,
                                   const StoreError* error) {
  if (!latch_.is_own_process()) return leave();
  // Before the first byte of it leaves: whoever has sent `not_sent` never calls.
  latch_.give_up();
  DispatchReport report = report_of(end, why);
  report.what = outcome::not_sent;
  if (error != nullptr) report.error = *error;
  const auto answer =
      storage_.keep_not_sent(why, permit_sent_ ? &permit_ : nullptr, stop_.detaching);
  report.stored = answer == SettleAnswer::recorded || answer == SettleAnswer::concluded;
  if (!answer) report.detail += "; this is not stored, recovery will look at the attempt";
  if (end == DispatchEnd::not_sent && answer == SettleAnswer::foreign) {
    report.end = DispatchEnd::foreign;
  } else if (end == DispatchEnd::not_sent && answer == SettleAnswer::concluded) {
    report.end = DispatchEnd::concluded;
  }
  return report;
}

// In a forked child: the parent goes on with the attempt, and with the connection.
DispatchReport Invocation::leave() {
  if (extension_) extension_->abandon();
  return report_of(DispatchEnd::left, "this is a forked child: the attempt is its parent's");
}

std::optional<DispatchReport> Invocation::make_call(const DispatchCall& call, CallResult& result) {
  if (!latch_.is_own_process()) return leave();
  store_.drop();
  try {
    extension_.emplace(extending_, request_, token_, permit_asked_, clock_, listener_);
  } catch (const std::exception& error) {
    return give_up(DispatchEnd::not_sent, error.what());
  }
  if (stop_.stopping.stop_requested()) {
    return give_up(DispatchEnd::not_sent, "stopped before the call");
  }
  if (!latch_.open(clock_.now())) {
    return give_up(DispatchEnd::not_sent, "the permission came too late to be used");
  }
  try {
    result = call(stop_);
  } catch (const std::exception& error) {
    result = {outcome::unknown, fmt::format("the call threw: {}", error.what()), false};
  } catch (...) {
    result = {outcome::unknown, "the call threw", false};
  }
  if (!latch_.is_own_process()) return leave();
  extension_->stop();
  return std::nullopt;
}

DispatchReport Invocation::store(const CallResult& result) {
  DispatchReport report = report_of(DispatchEnd::left, clean_text(result.detail, note_max));
  report.called = true;
  if (result.left) return report;
  report.what = result.what;
  const auto answer = storage_.keep_result(result.what, result.detail, permit_, stop_.detaching);
  if (!answer) return report;
  report.stored = answer == SettleAnswer::recorded || answer == SettleAnswer::concluded;
  switch (*answer) {
    case SettleAnswer::recorded:
      report.end = result.what == outcome::not_sent ? DispatchEnd::not_sent : DispatchEnd::recorded;
      break;
    case SettleAnswer::concluded: report.end = DispatchEnd::concluded; break;
    case SettleAnswer::foreign: report.end = DispatchEnd::foreign; break;
    // Only a call that was not sent ends so: there is nothing to store and nothing to free.
    case SettleAnswer::absent: report.end = DispatchEnd::not_sent; break;
  }
  return report;
}

}  // namespace ql3
