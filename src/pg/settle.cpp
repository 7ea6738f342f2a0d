// ql3_settle and ql3_settle_page.
#include "result_set.hpp"
#include "session.hpp"
#include "settlement.hpp"
#include "target_results.hpp"

namespace ql3::pg {

namespace {

constexpr std::string_view settled = "settled";
constexpr std::string_view fenced = "fenced";

settle_request read_request(disposition as, std::optional<interval_parts> delay, std::optional<std::string_view> note) {
  settle_request how{};
  how.as = as;
  check_delay_allowed(as, delay.has_value());
  if (delay) how.delay = check_retry_delay(*delay);
  if (note) how.note = kept_note(*note);
  return how;
}

// What the source says of the targets of a page that are still held, in key order.
class page_standings {
 public:
  void read(const bounded<fenced_claim>& founds, page_sources& sources) {
    stand_.assign(founds.size(), standing::unknown);
    for (std::size_t first = 0, end; first < founds.size(); first = end) {
      bounded<const locked_control*> claims;
      bounded<std::size_t> steps;
      for (end = first; end < founds.size() && is_same_kind(founds[first], founds[end]); ++end) {
        if (!founds[end].holds || is_again(founds, end)) continue;
        claims.push_back(&*founds[end].row);
        steps.push_back(end);
      }
      if (claims.empty()) continue;
      bounded<standing> stand;
      standings_of(claims, sources.of(claims[0]->kind), stand);
      for (std::size_t at = 0; at < steps.size(); ++at) stand_[steps[at]] = stand[at];
    }
  }
  standing at(int step) const { return stand_[static_cast<std::size_t>(step)]; }

 private:
  static bool is_same_kind(const fenced_claim& a, const fenced_claim& b) noexcept {
    return &a == &b || (a.row && b.row && a.row->kind == b.row->kind);
  }
  static bool is_again(const bounded<fenced_claim>& founds, std::size_t at) noexcept {
    return at > 0 && founds[at - 1].row && founds[at - 1].row->kind == founds[at].row->kind &&
           founds[at - 1].row->id == founds[at].row->id;
  }
  bounded<standing> stand_;
};

// `stands(from)` answers what the source says of the target; asked only when the claim holds.
template <class Stands>
std::string_view settle_one(const claim_name& name, const fenced_claim& found, const settle_request& how,
                            page_sources& sources, judgement_page& history, Stands&& stands) {
  unsigned char request[digest_size];
  request_of("settle", name).add(to_text(how.as)).add(how.delay).add(how.note).digest(request);
  if (!found.holds) return repeated(found, request).value_or(fenced);
  const source* const from = sources.of(name.kind);
  settle_claim({&*found.row, from, stands(from), found.clock}, how, request, history);
  return settled;
}

Datum settle(FunctionCallInfo fcinfo) {
  require_writable("ql3_settle");
  arguments const given(fcinfo);
  token with;
  claim_name const name = read_claim(given, with);
  disposition const as = check_disposition(given.text(5, "disposition"));
  std::optional<interval_parts> delay;
  if (!given.is_null(6)) delay = given.length(6, "delay");
  settle_request const how = read_request(as, delay, given.maybe_text(7));
  std::string_view const word = in_session([&] {
    bound_transaction();
    page_sources sources;
    fenced_claim const found = lock_claim(name);
    judgement_page history(1);
    std::string_view const answer = settle_one(name, found, how, sources, history,
                                               [&](const source* from) { return standing_of(*found.row, from); });
    history.write();
    return answer;
  });
  return text_datum(word);
}

Datum settle_page(FunctionCallInfo fcinfo) {
  require_writable("ql3_settle_page");
  arguments const given(fcinfo);
  claim_page_names page;
  read_claim_page(given, page);
  auto const size = static_cast<std::int64_t>(page.names.size());
  bounded<std::string_view> const words = given.texts(5, "dispositions");
  check_same_length(static_cast<std::int64_t>(words.size()), "dispositions", size, "kinds");
  bounded<std::optional<interval_parts>> delays(page.names.size());
  if (!given.is_null(6)) {
    delays = given.maybe_lengths(6, "delays");
    check_same_length(static_cast<std::int64_t>(delays.size()), "delays", size, "kinds");
  }
  bounded<std::optional<std::string_view>> notes(page.names.size());
  if (!given.is_null(7)) {
    notes = given.maybe_texts(7, "notes");
    check_same_length(static_cast<std::int64_t>(notes.size()), "notes", size, "kinds");
  }
  bounded<settle_request> requests;
  for (std::size_t at = 0; at < page.names.size(); ++at)
    requests.push_back(read_request(check_disposition(words[at], "dispositions"), delays[at], notes[at]));
  result_set result(fcinfo);
  in_session([&] {
    bound_transaction();
    page_sources sources;
    page_standings standings;
    judgement_page history(static_cast<int>(page.names.size()));
    auto const answers = with_claims(
        page, [&](const bounded<fenced_claim>& founds) { standings.read(founds, sources); },
        [&](int at, const fenced_claim& found, int step) {
          return settle_one(page.names[at], found, requests[at], sources, history, [&](const source* from) {
            return step < 0 ? standing_of(*found.row, from) : standings.at(step);
          });
        });
    history.write();
    add_target_results(result, page, answers);
  });
  return Datum(0);
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_settle, ql3::pg::settle)
QL3_FUNCTION(ql3_settle_page, ql3::pg::settle_page)
