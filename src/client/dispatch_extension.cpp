#include "client/dispatch_extension.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "client/pause.hpp"
#include "client/store_error.hpp"

namespace ql3 {

Extension::Extension(DispatchStore& store, const DispatchRequest& request, const OneTimeId& token,
                     Clock::Time asked, Clock& clock, const Tell& listener)
    : store_(store),
      request_(request),
      token_(token),
      clock_(clock),
      listener_(listener),
      thread_([this, asked](std::stop_token stop) { run(std::move(stop), asked); }) {}

void Extension::run(std::stop_token stop, Clock::Time asked) {
  const Clock::Length period = Clock::Length(request_.observe_after) / 3;
  const Clock::Length limit = std::min<Clock::Length>(period / 2, std::chrono::seconds(5));
  Clock::Time due = asked + period;
  Backoff backoff;
  while (sleep_until(clock_, due, stop)) {
    const Clock::Time sent = clock_.now();
    const Went went = extend_once(limit);
    if (went == Went::over) return;
    if (went == Went::well) {
      due = sent + period;
      backoff = Backoff();
    } else {
      // A pause of a sixth at most leaves several tries before recovery may look.
      due = clock_.now() + std::min(backoff.next(), period / 2);
    }
  }
}

Extension::Went Extension::extend_once(Clock::Length limit) {
  Went went = Went::badly;
  try {
    const ExtendAnswer answer = store_.extend(request_, token_, limit);
    went = answer == ExtendAnswer::extended ? Went::well : Went::over;
    if (went == Went::over) {
      tell(listener_, Level::warning,
           answer == ExtendAnswer::concluded
               ? "the attempt was concluded while the call runs; its result is stored all the same"
               : "the attempt's row is gone while the call runs; its result will be asserted");
    }
  } catch (const std::exception& error) {
    tell(listener_, Level::warning, fmt::format("extending the attempt: {}", error.what()));
  }
  store_.drop();
  return went;
}

}  // namespace ql3
