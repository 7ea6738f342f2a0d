// What each profile is given, for the check of rights.
#pragma once

#include "server.hpp"

namespace ql3::pg {

// USAGE on the schema, EXECUTE on a function of it (its signature), SELECT on a view of it (its name).
struct profile_right {
  const char* profile;
  const char* privilege;
  const char* object;
};
using profile_rights = boost::container::static_vector<profile_right, 256>;

profile_rights shipped_rights();

}  // namespace ql3::pg
