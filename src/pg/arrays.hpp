// Arrays of our statements' parameters and rows.
#pragma once

#include "args.hpp"

namespace ql3::pg {

inline constexpr Oid timestamptz_array = 1185;  // pg_type: _timestamptz, fixed on every major

Datum text_array(const bounded<std::string_view>& texts);
Datum time_array(const bounded<instant>& times);
// At most page_size_max elements; none of them NULL.
bounded<std::string_view> texts_of(Datum array);

}  // namespace ql3::pg
