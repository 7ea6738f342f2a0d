// Calling the user's transition: as the owner of the source's relation, under a security-restricted operation, with
// deferred constraints made immediate first.
#pragma once

#include "session.hpp"
#include "sources.hpp"

namespace ql3::pg {

// True when the transition changed its row. False or NULL means stale, and whatever it wrote is rolled back. An error
// of the transition is the caller's error. 55000 when the source has none; 42883, 42804, 42501 when the function is
// gone, has another result type, or belongs to somebody else now.
bool run_transition(session& in, const source& from, std::string_view id, std::string_view verdict,
                    std::optional<Datum> evidence);

// Is the transition that the source was attached with gone? REQUIRES: the source has one.
bool is_transition_gone(const source& from);

// What attach asks of a transition: (text, text, jsonb) -> boolean, owned by the relation's owner.
void check_transition(Oid function, Oid relation_owner);

}  // namespace ql3::pg
