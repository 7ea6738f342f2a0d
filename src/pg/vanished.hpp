// Targets whose claims end their owners: a probe of them, perhaps, that takes the supervisor down with it.
#pragma once

#include "control_rows.hpp"

namespace ql3::pg {

// Puts the claim that ran out on record in ql3.judgements, as `expired`. True when the claims of this incident that ran
// out in a row, this one included, had as many distinct owners as ql3.max_vanished_owners: the target is to be parked.
// REQUIRES: the row is locked, claimed, and its claim is over.
bool vanished_too_often(const locked_control& of, std::int32_t failure_count, instant clock);

void define_vanished_settings();

}  // namespace ql3::pg
