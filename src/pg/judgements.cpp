#include "judgements.hpp"

#include "control_columns.hpp"
#include "session.hpp"

namespace ql3::pg {

namespace {

changes row_of(const judgement& what) {
  own_table& history = judgements();
  changes to;
  auto text = [&](int column, const std::optional<std::string_view>& value) {
    if (value) to.set(column, text_datum(*value));
  };
  to.set(judgement_number, number_datum(next_identity(history.relation(), judgement_number)));
  text(judgement_kind, what.kind);
  text(judgement_id, what.id);
  to.set(judgement_version, number_datum(what.version));
  text(judgement_owner, what.owner);
  text(judgement_run_id, what.run_id);
  text(judgement_status, what.status);
  to.set(judgement_lost_at, time_datum(what.lost_at));
  text(judgement_disposition, what.disposition);
  text(judgement_verdict, what.verdict);
  text(judgement_note, what.note);
  if (what.evidence) to.set(judgement_evidence, *what.evidence);
  text(judgement_result, what.result);
  to.set(judgement_failure_count, Int32GetDatum(what.failure_count));
  to.set(judgement_judged_at, time_datum(what.judged_at));
  to.set(judgement_protocol, Int16GetDatum(protocol_known));
  return to;
}

}  // namespace

void write_judgement(const judgement& what) { (void)judgements().insert(row_of(what)); }

judgement_page::judgement_page(int most)
    : rows_(call([&] { return static_cast<changes*>(palloc(sizeof(changes) * static_cast<Size>(most))); })),
      most_(most) {}

void judgement_page::add(const judgement& what) {
  if (count_ == most_) write();
  new (&rows_[count_++]) changes(row_of(what));
}

void judgement_page::write() {
  judgements().insert_all(rows_, std::exchange(count_, 0));
}

}  // namespace ql3::pg
