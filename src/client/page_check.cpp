#include "client/page_check.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "client/store_error.hpp"

namespace ql3 {

void check_page(std::span<const ClaimedTarget> page, const ClaimRequest& request,
                const ClaimToken& token) {
  const auto refuse = [](std::string_view phrase) {
    throw StoreError(StoreCode::malformed, phrase);
  };
  if (page.size() > static_cast<std::size_t>(request.page_size)) {
    refuse("the page has more targets than were asked for");
  }
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const ClaimedTarget& one : page) {
    if (one.target.kind.empty() || one.target.id.empty()) refuse("a target has no kind or no id");
    if (!seen.emplace(one.target.kind, one.target.id).second) {
      refuse("the page has a target twice");
    }
    if (!request.kinds.empty() && std::find(request.kinds.begin(), request.kinds.end(),
                                            one.target.kind) == request.kinds.end()) {
      refuse("the page has a kind that was not asked for");
    }
    if (one.owner != request.owner) refuse("a target of the page has another owner");
    if (one.token != token) refuse("a target of the page has another token");
    if (one.version < 1) refuse("a target of the page has a version below 1");
    if (one.lease_left <= Milliseconds::zero()) refuse("a claim of the page has expired");
    if (one.lease_left > request.lease) refuse("a claim of the page outlives the lease");
    if (one.failure_count < 0) refuse("a target of the page has a negative failure count");
  }
}

}  // namespace ql3
