// The parts of ql3_prune. Each removes at most `most` rows of what has been over since before `cutoff` and answers how
// many it removed.
#pragma once

#include "args.hpp"

namespace ql3::pg {

// Control rows of targets that left their source. The floor of the kind is raised above their versions first, in the
// same transaction. Looks at rows for about a second and goes on there the next time.
int prune_controls(instant cutoff, int most);

// Decided attempts without a conflict, each replaced by its tombstone. At most 1,000 a call: every one holds its item's
// lock to the end of the transaction; items that are busy are passed over.
int prune_dispatches(instant cutoff, int most);

}  // namespace ql3::pg
