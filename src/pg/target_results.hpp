// The answer of a page function: one row per input position, in input order.
#pragma once

#include "fenced_claim.hpp"
#include "result_set.hpp"

namespace ql3::pg {

inline void add_target_results(result_set& result, const claim_page_names& page,
                               const bounded<std::string_view>& answers) {
  for (std::size_t at = 0; at < page.names.size(); ++at)
    result_row()
        .number32(static_cast<std::int32_t>(at) + 1).text(page.names[at].kind).text(page.names[at].id)
        .text(answers[at]).into(result);
}

}  // namespace ql3::pg
