// ql3_conclude and ql3_require_fence.
#include "dispatch_judge.hpp"
#include "session.hpp"
#include "settlement.hpp"
#include "transition.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
#include "utils/json.h"
}

namespace ql3::pg {

namespace {

struct evidence_given {
  std::optional<Datum> whole;          // jsonb, as the transition gets it
  std::optional<Datum> kept;           // jsonb, as history keeps it
  std::optional<std::string_view> text;
};

evidence_given read_evidence(const arguments& given, int position) {
  evidence_given evidence{};
  if (given.is_null(position)) return evidence;
  Datum const document = given.datum(position, "evidence");
  char* const text = call([&] {
    Jsonb* value = DatumGetJsonbP(document);
    return JsonbToCString(nullptr, &value->root, static_cast<int>(VARSIZE(value)));
  });
  evidence.text = std::string_view(text);
  check_evidence_size(evidence.text->size());
  evidence.whole = document;
  evidence.kept = document;
  if (evidence.text->size() > evidence_kept) {
    std::string_view const cut = keep_text(kept_note(*evidence.text, evidence_kept));
    evidence.kept = call([&] {
      StringInfoData document_text;
      initStringInfo(&document_text);
      appendStringInfoString(&document_text, "{\"cut\": ");
      escape_json(&document_text, cut.data());
      appendStringInfoChar(&document_text, '}');
      return DirectFunctionCall1(jsonb_in, CStringGetDatum(document_text.data));
    });
  }
  return evidence;
}

Datum conclude(FunctionCallInfo fcinfo) {
  require_writable("ql3_conclude");
  arguments const given(fcinfo);
  token with;
  claim_name const name = read_claim(given, with);
  std::string_view const verdict = given.text(5, "verdict");
  check_verdict(verdict);
  evidence_given const evidence = read_evidence(given, 6);

  std::string_view const word = in_session([&](session& in) -> std::string_view {
    bound_transaction();
    refuse_prepare();
    fenced_claim const found = lock_claim(name);
    unsigned char request[digest_size];
    request_of("conclude", name).add(verdict).add(evidence.text).digest(request);
    if (!found.holds) return repeated(found, request).value_or("fenced");
    std::optional<source> const from = source_of(name.kind);
    if (!from)
      throw error(sqlstate::undefined_object,
                  (message_text<256>() << "no source is attached for kind " << quoted{name.kind}).view());
    if (from->paused) refuse_paused(*from);
    bool const applied = name.kind == dispatch_kind ? judge_dispatch(name.id, verdict, evidence.text)
                                                    : run_transition(in, *from, name.id, verdict, evidence.whole);
    // The row is ours since the lock; only the transition itself, calling ql3, could have ended the claim, or renewed
    // it: what is concluded is the row as it is now.
    std::optional<locked_control> const still = lock_waiting(name.kind, name.id);
    if (!still || still->control.st != state::claimed || still->control.version != name.version ||
        !same_digest(still->token_digest, name.token_digest))
      throw error(sqlstate::not_in_prerequisite_state, "the transition ended the claim that it was called under",
                  "A transition changes the user's row only; the claim is settled by ql3_conclude.");
    conclude_claim({&*still, &*from, standing_of(*still, &*from), found.clock},
                   {verdict, evidence.kept, applied}, request);
    return applied ? "concluded" : "stale";
  });
  return text_datum(word);
}

Datum require_fence(FunctionCallInfo fcinfo) {
  require_writable("ql3_require_fence");
  arguments const given(fcinfo);
  token with;
  claim_name const name = read_claim(given, with);
  in_session([&] {
    bound_transaction();
    if (lock_claim(name).holds) return;
    throw error(sqlstate::not_in_prerequisite_state,
                (message_text<256>() << "the claim of " << name.kind << " " << quoted{name.id} << " is fenced").view(),
                "Somebody else has it, it ran out, or it was ended: change nothing and claim anew.");
  });
  return Datum(0);
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_conclude, ql3::pg::conclude)
QL3_FUNCTION(ql3_require_fence, ql3::pg::require_fence)
