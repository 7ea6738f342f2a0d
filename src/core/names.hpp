// Checks of the words, texts and counts that callers hand in. Each one returns silently or throws
// ql3::error that names the argument, the value and the limit; SQLSTATE 22023 unless said
// otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "utf8.hpp"

namespace ql3 {

inline constexpr std::string_view dispatch_kind = "dispatch";

// ^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$
bool is_owner(std::string_view value) noexcept;
// ^[a-z][a-z0-9_]{0,62}$
bool is_kind(std::string_view value) noexcept;
// Nothing but ASCII white space.
bool is_blank(std::string_view value) noexcept;

// Refuses a NULL argument. 22004.
[[noreturn]] void refuse_null(std::string_view argument);

// An owner or writer: the owner pattern.
void check_owner(std::string_view value, std::string_view argument = "owner");

// A kind, action or verdict word: the kind pattern.
void check_kind(std::string_view value, std::string_view argument = "kind");
void check_verdict(std::string_view value, std::string_view argument = "verdict");

// A kind somebody may attach, detach or import: also not the kind of our own. 42939.
void check_source_kind(std::string_view value, std::string_view argument = "kind");

// An id, run_id, request_uid or item: 1 to 255 bytes, of any content.
void check_id(std::string_view value, std::string_view argument = "id");

// A reason of an operator: not blank. It is cut to 2 KiB by the caller, not refused.
void check_reason(std::string_view value, std::string_view argument = "reason");

// 1 to 128.
void check_page_size(std::int32_t value, std::string_view argument = "page_size");

// The elements of an array argument: 1 to 128.
void check_array_length(std::int64_t value, std::string_view argument);

// An array that goes with another one, element by element.
void check_same_length(std::int64_t value, std::string_view argument, std::int64_t expected,
                       std::string_view other);

// 1 to 1,000,000.
void check_max_failures(std::int32_t value, std::string_view argument = "max_failures");

// A failure count that is handed in: 0 to 1,000,000.
void check_failure_count(std::int32_t value, std::string_view argument = "failure_counts");

// Rows of one prune: 1 to 100,000.
void check_batch(std::int32_t value, std::string_view argument = "batch");

// Bytes of an evidence document (64 KiB) and of the arguments of a dispatch (8 KiB).
void check_evidence_size(std::size_t bytes, std::string_view argument = "evidence");
void check_arguments_size(std::size_t bytes, std::string_view argument = "arguments");

}  // namespace ql3
