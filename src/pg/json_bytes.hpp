// A jsonb document as bytes to be digested.
#pragma once

#include "spi.hpp"

namespace ql3::pg {

// The same for documents that jsonb calls equal, whatever their spelling, and for no others; the same on every machine
// and major. (The type's own hash is neither.) Lives in the current memory context.
std::string_view json_bytes(Datum document);

}  // namespace ql3::pg
