// ql3.audit_events: what operators did, each event chained to the one before by digest.
#pragma once

#include "args.hpp"

namespace ql3::pg {

struct audited_act {
  std::string_view action;
  std::optional<std::string_view> kind;
  std::optional<std::string_view> id;
  std::optional<std::string_view> reason;
  std::optional<std::string_view> before;  // JSON text
  std::optional<std::string_view> after;   // JSON text
};

// Writes the event in the caller's transaction. Events are strictly ordered, so acts of two operators wait for each
// other, at most 1 s (55P03). Lock order: the target's row before the chain.
void audit(const audited_act& act);

// The session's user, as the tables keep who did it.
std::string_view acting_user();

}  // namespace ql3::pg
