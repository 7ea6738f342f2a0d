// The probe contract in JSON: the candidate that goes in, the answer that comes out.
#pragma once

#include <string>
#include <string_view>

#include "client/probe.hpp"

namespace ql3 {

// {"kind","id","run_id","status","created_at","lost_at","source":{…}}: no owner, token or version.
// Text that is no UTF-8 is replaced character by character.
std::string candidate_json(const Target& target);

// No answer of a probe may have more bytes.
inline constexpr std::size_t answer_max = 256 * 1024;

// The answer in `text`, or unknown with what is wrong with it. Never throws but std::bad_alloc.
// A kind, id or run_id that is not the target's is conflicting_evidence. provider_unavailable is:
// no JSON, anything after it, nested deeper than 64, no object, a key twice, no verdict or one that
// is not known, unknown without one of its three reasons, and evidence that is no object, larger
// than 64 KiB or with a NUL character.
ProbeAnswer parse_answer(std::string_view text, const Target& target);

// The answer of a probe in C++ if it keeps to the same limits, else unknown with what is wrong:
// a verdict or reason that does not exist, evidence that is no object, larger than 64 KiB, deeper
// than 64 or with a NUL character. Never throws but std::bad_alloc.
ProbeAnswer vetted(ProbeAnswer answer);

}  // namespace ql3
