#include "client/dispatch_storage.hpp"

#include <utility>

#include <fmt/format.h>

#include "client/pause.hpp"
#include "client/text.hpp"
#include "core/limits.hpp"

namespace ql3 {

namespace {

SettleAnswer settled_by(ReassertAnswer answer) {
  switch (answer) {
    case ReassertAnswer::recorded: return SettleAnswer::recorded;
    case ReassertAnswer::foreign: return SettleAnswer::foreign;
    case ReassertAnswer::concluded: break;
  }
  return SettleAnswer::concluded;
}

// What to send instead of a text the database cannot store: the same in ASCII, then nothing.
std::optional<std::string> plainer(const std::string& text) {
  std::string ascii = ascii_text(text);
  if (ascii == text) return std::nullopt;
  return ascii;
}

}  // namespace

OutcomeStorage::OutcomeStorage(DispatchStore& store, const DispatchRequest& request,
                               const OneTimeId& token, Clock::Length answer_limit,
                               const Tell& listener, Clock& clock)
    : store_(store),
      request_(request),
      token_(token),
      answer_limit_(answer_limit),
      listener_(listener),
      clock_(clock) {}

std::optional<SettleAnswer> OutcomeStorage::keep_result(outcome what, const std::string& detail,
                                                        const OneTimeId& permit,
                                                        std::stop_token stop) {
  return keep({what, clean_text(detail, note_max), &permit, true}, std::move(stop), {});
}

std::optional<SettleAnswer> OutcomeStorage::keep_not_sent(const std::string& detail,
                                                          const OneTimeId* permit,
                                                          std::stop_token stop,
                                                          std::optional<Clock::Time> until) {
  return keep({outcome::not_sent, clean_text(detail, note_max), permit, false}, std::move(stop),
              until);
}

std::optional<SettleAnswer> OutcomeStorage::keep(Fact fact, std::stop_token stop,
                                                 std::optional<Clock::Time> until) {
  if (fact.detail && fact.detail->empty()) fact.detail.reset();
  Backoff backoff;
  for (;;) {
    try {
      return store_once(fact);
    } catch (const StoreError& error) {
      // Whatever it was, the next try shall not depend on this connection.
      store_.drop();
      tell_of(error.what());
      if (error.code() == StoreCode::bad_text && fact.detail) {
        fact.detail = plainer(*fact.detail);
        continue;
      }
      if (!fact.called && !error.retryable() && error.code() != StoreCode::malformed &&
          error.code() != StoreCode::failed) {
        return std::nullopt;
      }
    } catch (const std::exception& error) {
      store_.drop();
      tell_of(error.what());
    }
    const Clock::Time next = clock_.now() + backoff.next();
    if (until && next >= *until) return std::nullopt;
    if (!sleep_until(clock_, next, stop)) return std::nullopt;
  }
}

SettleAnswer OutcomeStorage::store_once(const Fact& fact) {
  const SettleAnswer answer =
      store_.settle(request_, token_, fact.what, fact.detail, fact.permit, answer_limit_);
  const bool gone = answer == SettleAnswer::absent || answer == SettleAnswer::foreign;
  if (!gone || !fact.called || fact.what == outcome::not_sent) return answer;
  // The permission was ours, so the row was there: the server has lost it. A repeat begins with
  // the settle again, which recognises what an unanswered assertion has stored.
  tell(listener_, Level::warning, "the attempt's row is gone: asserting it again");
  return settled_by(store_.reassert(request_, token_, fact.what, answer_limit_));
}

void OutcomeStorage::tell_of(const char* what) {
  // An outage of hours is told now and then, not at every try.
  const Clock::Time now = clock_.now();
  if (told_ == what && now - told_at_ < std::chrono::minutes(1)) return;
  told_ = what;
  told_at_ = now;
  tell(listener_, Level::warning, fmt::format("the outcome is not stored yet: {}", what));
}

}  // namespace ql3
