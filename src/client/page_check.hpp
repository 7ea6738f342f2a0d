// The check of a claimed page, before anything of it is looked at.
#pragma once

#include <span>

#include "client/claims.hpp"

namespace ql3 {

// Throws StoreError malformed when any row breaks what a claim promises: more rows than asked, a
// target twice, another owner or token, a version below 1, no lease left or more than was asked, a
// negative failure count, a kind that was not asked for. One bad row condemns the page: whoever
// wrote it cannot be trusted about the others.
void check_page(std::span<const ClaimedTarget> page, const ClaimRequest& request,
                const ClaimToken& token);

}  // namespace ql3
