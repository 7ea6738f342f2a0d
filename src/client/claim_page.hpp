// Claiming one page, lost replies included.
#pragma once

#include <stop_token>
#include <vector>

#include "client/claims.hpp"
#include "client/clock.hpp"

namespace ql3 {

struct Page {
  ClaimToken token;
  std::vector<ClaimedTarget> targets;
  // No claim of the page ends before this, by our own clock: counted from before the statement that
  // brought the page was sent.
  Clock::Time deadline;
};

// Claims under a fresh token and checks the page. After a retryable error the same token is sent
// again, with a growing pause, until the lease that the first send may have begun would be over or
// `stop` is requested; then the error is thrown. Throws StoreError.
Page claim_page(ClaimStore& store, const ClaimRequest& request, Clock& clock, std::stop_token stop);

}  // namespace ql3
