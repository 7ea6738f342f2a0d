// The columns of ql3.dispatches and ql3.dispatch_tombstones by number, as the install script has them.
#pragma once

namespace ql3::pg {

enum attempt_column : int {
  attempt_id = 1, attempt_request_uid, attempt_item, attempt_number, attempt_state, attempt_action, attempt_arguments,
  attempt_writer, attempt_token_digest, attempt_permit_digest, attempt_lineage, attempt_claimed_at,
  attempt_permitted_at, attempt_observe_after, attempt_observe_at, attempt_writer_outcome, attempt_judged_outcome,
  attempt_override_outcome, attempt_concluded_at, attempt_contradicted, attempt_disagrees, attempt_detail,
  attempt_protocol, attempt_columns_end
};

inline constexpr const char* attempt_column_names[] = {
    "attempt", "request_uid", "item", "attempt_no", "state", "action", "arguments", "writer", "token_digest",
    "permit_digest", "lineage", "claimed_at", "permitted_at", "observe_after", "observe_at", "writer_outcome",
    "judged_outcome", "override_outcome", "concluded_at", "contradicted", "disagrees", "detail", "protocol"};
static_assert(sizeof attempt_column_names / sizeof *attempt_column_names == attempt_columns_end - 1);

enum tombstone_column : int {
  tombstone_request_digest = 1, tombstone_item_digest, tombstone_token_digest, tombstone_identity_digest,
  tombstone_attempt, tombstone_number, tombstone_state, tombstone_writer, tombstone_permitted,
  tombstone_writer_outcome, tombstone_judged_outcome, tombstone_override_outcome, tombstone_contradicted,
  tombstone_claimed_at, tombstone_concluded_at, tombstone_pruned_at, tombstone_protocol,
  tombstone_disagrees, tombstone_request_uid, tombstone_item, tombstone_columns_end
};

inline constexpr const char* tombstone_column_names[] = {
    "request_digest", "item_digest", "token_digest", "identity_digest", "attempt", "attempt_no", "state", "writer",
    "permitted", "writer_outcome", "judged_outcome", "override_outcome", "contradicted", "claimed_at", "concluded_at",
    "pruned_at", "protocol", "disagrees", "request_uid", "item"};
static_assert(sizeof tombstone_column_names / sizeof *tombstone_column_names == tombstone_columns_end - 1);

}  // namespace ql3::pg
