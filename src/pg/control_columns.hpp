// The columns of ql3.run_recovery_controls and ql3.judgements by number, as the install script has them.
#pragma once

namespace ql3::pg {

enum control_column : int {
  control_kind = 1, control_id, control_state, control_run_id, control_status, control_created_at, control_lost_at,
  control_observed_at, control_owner, control_token_digest, control_version, control_claimed_at, control_expires_at,
  control_next_claim_at, control_due_at, control_failure_count, control_claim_mark, control_ended_digest,
  control_ended_result, control_detail, control_protocol, control_columns_end
};

inline constexpr const char* control_column_names[] = {
    "kind", "id", "state", "run_id", "status", "created_at", "lost_at", "observed_at", "owner", "token_digest",
    "version", "claimed_at", "expires_at", "next_claim_at", "due_at", "failure_count", "claim_mark", "ended_digest",
    "ended_result", "detail", "protocol"};
static_assert(sizeof control_column_names / sizeof *control_column_names == control_columns_end - 1);

enum judgement_column : int {
  judgement_number = 1, judgement_kind, judgement_id, judgement_version, judgement_owner, judgement_run_id,
  judgement_status, judgement_lost_at, judgement_disposition, judgement_verdict, judgement_note, judgement_evidence,
  judgement_result, judgement_failure_count, judgement_judged_at, judgement_protocol, judgement_columns_end
};

inline constexpr const char* judgement_column_names[] = {
    "judgement_id", "kind", "id", "version", "owner", "run_id", "status", "lost_at", "disposition", "verdict", "note",
    "evidence", "result", "failure_count", "judged_at", "protocol"};
static_assert(sizeof judgement_column_names / sizeof *judgement_column_names == judgement_columns_end - 1);

// The protocol of the rows that this library writes; a row of a later one is refused.
inline constexpr int protocol_known = 1;

}  // namespace ql3::pg
