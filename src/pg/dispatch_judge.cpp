#include "dispatch_judge.hpp"

#include "dispatch_rows.hpp"
#include "durability.hpp"
#include "session.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace ql3::pg {

bool judge_dispatch(std::string_view attempt_id, std::string_view verdict,
                    const std::optional<std::string_view>& evidence) {
  outcome const value = read_outcome(verdict, true);
  force_synchronous_commit();
  std::string_view const text = keep_text(attempt_id);
  uuid_value const attempt =
      uuid_of(call([&] { return DirectFunctionCall1(uuid_in, CStringGetDatum(text.data())); }));
  std::optional<item_name> const name = item_of_attempt(attempt);
  if (!name) return false;
  lock_item(*name);
  std::optional<attempt_row> row = attempt_by_id(attempt);
  if (!row) return false;
  live_lineage const live = read_live_lineage();
  row->facts.own_lineage = live.row && *live.row == row->lineage;
  if (!judge_attempt(row->facts, value, row->observe_at <= clock_now())) return false;
  row->concluded_at = clock_now();
  if (evidence && !row->detail) row->detail = kept_note(*evidence);
  update_attempt(*name, *row);
  return true;
}

}  // namespace ql3::pg
