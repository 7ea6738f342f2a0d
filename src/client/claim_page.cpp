#include "client/claim_page.hpp"

#include <algorithm>

#include "client/page_check.hpp"
#include "client/pause.hpp"
#include "client/store_error.hpp"

namespace ql3 {

Page claim_page(ClaimStore& store, const ClaimRequest& request, Clock& clock,
                std::stop_token stop) {
  const ClaimToken token = ClaimToken::random();
  const Clock::Time first_sent = clock.now();
  const Clock::Length patience = std::min<Clock::Length>(request.lease, std::chrono::seconds(10));
  Backoff backoff;
  for (;;) {
    const Clock::Time sent = clock.now();
    try {
      std::vector<ClaimedTarget> targets = store.claim(request, token, patience);
      check_page(targets, request, token);
      Clock::Length lease = request.lease;
      for (const ClaimedTarget& one : targets) {
        lease = std::min<Clock::Length>(lease, one.lease_left);
      }
      return {token, std::move(targets), sent + lease};
    } catch (const StoreError& error) {
      const Clock::Time again = clock.now() + backoff.next();
      if (!error.retryable() || again >= first_sent + request.lease) throw;
      if (!sleep_until(clock, again, stop)) throw;
    }
  }
}

}  // namespace ql3
