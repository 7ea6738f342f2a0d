// What is true of an attempt, against promises 13 and 14: every combination of facts, and
// everything that can be reached from a claim by any messages in any order, delayed and repeated
// ones included.
#include "core/dispatch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace ql3 {
namespace {

constexpr std::array<outcome, 4> outcomes{outcome::succeeded, outcome::failed, outcome::unknown,
                                          outcome::not_sent};
constexpr std::array<fact, 5> facts{std::nullopt, outcome::succeeded, outcome::failed,
                                    outcome::unknown, outcome::not_sent};

template <class Visit>
void every_combination(Visit&& visit) {
  for (const fact& writer : facts)
    for (const fact& judged : facts)
      for (const fact& overridden : facts)
        for (int bits = 0; bits < 16; ++bits)
          visit(attempt_facts{writer, judged, overridden, (bits & 1) != 0, (bits & 2) != 0,
                              (bits & 4) != 0, (bits & 8) != 0});
}

bool same(const attempt_facts& a, const attempt_facts& b) {
  return a.writer == b.writer && a.judged == b.judged && a.overridden == b.overridden &&
         a.released == b.released && a.contradicted == b.contradicted &&
         a.permitted == b.permitted && a.own_lineage == b.own_lineage;
}

std::string name_of(const attempt_facts& of) {
  auto word = [](const fact& value) {
    return value ? std::string(to_text(*value)) : std::string("-");
  };
  return word(of.writer) + "/" + word(of.judged) + "/" + word(of.overridden) +
         (of.released ? " released" : "") + (of.contradicted ? " contradicted" : "") +
         (of.permitted ? " permitted" : "") + (of.own_lineage ? "" : " old lineage");
}

// Every message of the interface to one attempt.
struct message {
  enum kind { permit, settle, judge, override_, promote } what;
  outcome value = outcome::unknown;
  bool fits = false;  // settle: it names the permit's id; judge: the attempt is due
};

std::vector<message> every_message() {
  std::vector<message> all{{message::permit}, {message::promote}};
  for (outcome value : outcomes) {
    for (bool fits : {false, true}) {
      all.push_back({message::settle, value, fits});
      all.push_back({message::judge, value, fits});
    }
    all.push_back({message::override_, value});
  }
  return all;
}

// What was answered: a small number that means something per message.
int apply(attempt_facts& of, const message& sent) {
  switch (sent.what) {
    case message::permit:
      if (!may_permit(of)) return 0;
      of.permitted = true;
      return 1;
    case message::settle:
      // The id of a permit that was never given fits nothing.
      return static_cast<int>(settle_attempt(of, sent.value, sent.fits && of.permitted));
    case message::judge: return judge_attempt(of, sent.value, sent.fits);
    case message::override_: return override_attempt(of, sent.value);
    case message::promote: of.own_lineage = false; return 0;
  }
  return -1;
}

std::vector<attempt_facts> reachable() {
  struct less {
    bool operator()(const attempt_facts& a, const attempt_facts& b) const {
      return name_of(a) < name_of(b);
    }
  };
  std::set<attempt_facts, less> seen{attempt_facts{}};
  std::deque<attempt_facts> open(seen.begin(), seen.end());
  while (!open.empty()) {
    attempt_facts const from = open.front();
    open.pop_front();
    for (const message& sent : every_message()) {
      attempt_facts to = from;
      apply(to, sent);
      if (seen.insert(to).second) open.push_back(to);
    }
  }
  return {seen.begin(), seen.end()};
}

TEST(dispatch, words_are_read_back_and_nothing_else_is) {
  for (outcome value : outcomes) EXPECT_EQ(parse_outcome(to_text(value)), value);
  for (std::string_view word : {"", "claimed", "released", "Succeeded", "succeeded ", "not sent"})
    EXPECT_FALSE(parse_outcome(word)) << word;
  for (std::string_view word :
       {"claimed", "succeeded", "failed", "unknown", "not_sent", "released"}) {
    ASSERT_TRUE(parse_dispatch_state(word)) << word;
    EXPECT_EQ(to_text(*parse_dispatch_state(word)), word);
  }
  EXPECT_FALSE(parse_dispatch_state("CLAIMED"));
}

TEST(dispatch, state_is_the_override_else_the_writers_else_the_judged) {
  every_combination([](const attempt_facts& of) {
    std::string expected = "claimed";
    for (const fact& each : {of.judged, of.writer, of.overridden})
      if (each == fact(outcome::unknown) && expected == "claimed") expected = "unknown";
    for (const fact& each : {of.judged, of.writer, of.overridden})
      if (each && each != fact(outcome::unknown)) expected = to_text(*each);
    if (of.released) expected = "released";
    EXPECT_EQ(to_text(state_of(of)), expected) << name_of(of);
  });
}

TEST(dispatch, different_definite_facts_are_a_conflict_and_so_is_not_sent_after_unknown) {
  every_combination([](const attempt_facts& of) {
    std::set<outcome> definite;
    for (const fact& each : {of.writer, of.judged, of.overridden})
      if (each && *each != outcome::unknown) definite.insert(*each);
    bool const too_late =
        of.writer == fact(outcome::not_sent) &&
        (of.judged == fact(outcome::unknown) || of.overridden == fact(outcome::unknown));
    EXPECT_EQ(facts_disagree(of), of.contradicted || too_late || definite.size() > 1)
        << name_of(of);
  });
}

TEST(dispatch, permit_needs_a_bare_claim_of_the_live_lineage) {
  int allowed = 0;
  every_combination([&](const attempt_facts& of) {
    bool const bare = !of.writer && !of.judged && !of.overridden && !of.released && !of.permitted &&
                      of.own_lineage;
    EXPECT_EQ(may_permit(of), bare) << name_of(of);
    allowed += bare ? 1 : 0;
  });
  EXPECT_EQ(allowed, 2);
}

TEST(dispatch, a_permit_is_given_once_whatever_comes_between) {
  for (attempt_facts of : reachable())
    if (of.permitted || of.released || has_facts(of)) {
      EXPECT_FALSE(may_permit(of)) << name_of(of);
    }
}

TEST(dispatch, released_only_in_the_two_cases_and_only_from_claimed) {
  for (const attempt_facts& from : reachable())
    for (const message& sent : every_message()) {
      attempt_facts to = from;
      apply(to, sent);
      if (from.released || !to.released) continue;
      EXPECT_EQ(state_of(from), dispatch_state::claimed) << name_of(from);
      EXPECT_EQ(sent.value, outcome::not_sent) << name_of(from);
      bool const without_permit =
          !from.permitted && from.own_lineage &&
          (sent.what == message::settle || (sent.what == message::judge && sent.fits));
      bool const given_back = from.permitted && sent.what == message::settle && sent.fits;
      EXPECT_TRUE(without_permit || given_back) << name_of(from);
    }
}

TEST(dispatch, not_sent_frees_wherever_it_must) {
  attempt_facts bare;
  EXPECT_EQ(settle_attempt(bare, outcome::not_sent, false), settle_answer::recorded);
  EXPECT_TRUE(bare.released);
  attempt_facts given;
  given.permitted = true;
  EXPECT_EQ(settle_attempt(given, outcome::not_sent, true), settle_answer::recorded);
  EXPECT_TRUE(given.released);
  attempt_facts given_on_the_old_primary = {{}, {}, {}, false, false, true, false};
  EXPECT_EQ(settle_attempt(given_on_the_old_primary, outcome::not_sent, true),
            settle_answer::recorded);
  EXPECT_TRUE(given_on_the_old_primary.released);
  attempt_facts judged;
  EXPECT_TRUE(judge_attempt(judged, outcome::not_sent, true));
  EXPECT_TRUE(judged.released);
}

TEST(dispatch, not_sent_that_is_neither_case_closes_without_freeing) {
  for (attempt_facts of :
       {attempt_facts{{}, {}, {}, false, false, true, true},       // another's or no permit id
        attempt_facts{{}, {}, {}, false, false, false, false}}) {  // may have had one elsewhere
    EXPECT_EQ(settle_attempt(of, outcome::not_sent, false), settle_answer::recorded) << name_of(of);
    EXPECT_EQ(state_of(of), dispatch_state::not_sent) << name_of(of);
    // Closed is closed: the right id comes too late.
    EXPECT_EQ(settle_attempt(of, outcome::not_sent, of.permitted), settle_answer::recorded)
        << name_of(of);
    EXPECT_EQ(state_of(of), dispatch_state::not_sent) << name_of(of);
  }
}

TEST(dispatch, not_sent_after_a_judgement_or_override_is_kept_and_never_frees) {
  for (outcome earlier : outcomes)
    for (bool by_operator : {false, true})
      for (bool permitted : {false, true}) {
        attempt_facts of;
        of.permitted = permitted;
        (by_operator ? of.overridden : of.judged) = earlier;
        EXPECT_EQ(settle_attempt(of, outcome::not_sent, permitted), settle_answer::concluded)
            << name_of(of);
        EXPECT_EQ(of.writer, fact(outcome::not_sent)) << name_of(of);
        EXPECT_FALSE(of.released) << name_of(of);
        EXPECT_EQ(facts_disagree(of), earlier != outcome::not_sent) << name_of(of);
      }
}

TEST(dispatch, unknown_never_becomes_sendable) {
  for (const attempt_facts& from : reachable()) {
    if (state_of(from) != dispatch_state::unknown) continue;
    EXPECT_FALSE(may_permit(from)) << name_of(from);
    for (const message& sent : every_message()) {
      attempt_facts to = from;
      apply(to, sent);
      EXPECT_FALSE(to.released) << name_of(from);
      EXPECT_NE(state_of(to), dispatch_state::claimed) << name_of(from);
    }
  }
}

TEST(dispatch, nothing_is_claimed_again) {
  for (const attempt_facts& from : reachable())
    for (const message& sent : every_message()) {
      attempt_facts to = from;
      apply(to, sent);
      if (state_of(from) == dispatch_state::claimed) continue;
      EXPECT_NE(state_of(to), dispatch_state::claimed) << name_of(from);
    }
}

TEST(dispatch, a_released_token_never_comes_back_but_to_say_that_it_called) {
  for (const attempt_facts& from : reachable()) {
    if (!from.released) continue;
    for (const message& sent : every_message()) {
      attempt_facts to = from;
      int const answer = apply(to, sent);
      if (to.released) continue;
      EXPECT_EQ(sent.what, message::settle) << name_of(from);
      EXPECT_TRUE(sent.value == outcome::succeeded || sent.value == outcome::failed)
          << name_of(from);
      EXPECT_EQ(answer, static_cast<int>(settle_answer::recorded)) << name_of(from);
      EXPECT_EQ(from.judged, fact(outcome::not_sent)) << name_of(from);
      EXPECT_TRUE(facts_disagree(to)) << name_of(from);
      EXPECT_FALSE(may_permit(to)) << name_of(from);
    }
  }
}

TEST(dispatch, the_first_definite_fact_of_each_author_is_kept_for_ever) {
  for (const attempt_facts& from : reachable())
    for (const message& sent : every_message()) {
      attempt_facts to = from;
      apply(to, sent);
      if (is_definite(from.writer)) {
        EXPECT_EQ(to.writer, from.writer) << name_of(from);
      }
      if (is_definite(from.judged)) {
        EXPECT_EQ(to.judged, from.judged) << name_of(from);
      }
      if (is_definite(from.overridden)) {
        EXPECT_EQ(to.overridden, from.overridden) << name_of(from);
      }
      // Not even to nothing: unknown gives its place to a definite fact of its author only.
      if (from.writer) {
        EXPECT_TRUE(to.writer) << name_of(from);
      }
      if (from.judged) {
        EXPECT_TRUE(to.judged) << name_of(from);
      }
      if (from.overridden) {
        EXPECT_TRUE(to.overridden) << name_of(from);
      }
    }
}

TEST(dispatch, the_writers_first_definite_result_is_stored_however_late) {
  for (const attempt_facts& from : reachable())
    for (outcome value : {outcome::succeeded, outcome::failed}) {
      attempt_facts to = from;
      settle_answer const answer = settle_attempt(to, value, false);
      if (is_definite(from.writer)) {
        EXPECT_EQ(answer == settle_answer::recorded,
                  from.writer == fact(value) && !is_definite(from.overridden) && !from.released)
            << name_of(from);
        continue;
      }
      EXPECT_EQ(to.writer, fact(value)) << name_of(from);
      EXPECT_EQ(answer == settle_answer::concluded, is_definite(from.overridden)) << name_of(from);
      if (!is_definite(from.overridden)) {
        EXPECT_EQ(to_text(state_of(to)), to_text(value)) << name_of(from);
      }
    }
}

TEST(dispatch, a_repeat_changes_nothing_and_gives_the_same_answer) {
  for (const attempt_facts& from : reachable())
    for (const message& sent : every_message()) {
      // A permit is once, and a judgement speaks to a bare claim: their repeats are refused by
      // design.
      if (sent.what == message::permit || sent.what == message::judge) continue;
      attempt_facts once = from;
      int const first = apply(once, sent);
      attempt_facts twice = once;
      EXPECT_EQ(apply(twice, sent), first) << name_of(from) << " by " << to_text(sent.value);
      EXPECT_TRUE(same(once, twice)) << name_of(from) << " by " << to_text(sent.value);
    }
}

TEST(dispatch, a_judgement_is_stale_on_anything_but_a_due_claim) {
  every_combination([](const attempt_facts& from) {
    for (outcome value : outcomes)
      for (bool due : {false, true}) {
        attempt_facts to = from;
        bool const taken = judge_attempt(to, value, due);
        bool const provable = value != outcome::not_sent || (!from.permitted && from.own_lineage);
        EXPECT_EQ(taken, !from.released && !has_facts(from) && due && provable) << name_of(from);
        if (!taken) {
          EXPECT_TRUE(same(from, to)) << name_of(from);
        } else
          EXPECT_EQ(to.judged, fact(value)) << name_of(from);
      }
  });
}

TEST(dispatch, an_override_frees_nothing) {
  every_combination([](const attempt_facts& from) {
    for (outcome value : outcomes) {
      attempt_facts to = from;
      bool const taken = override_attempt(to, value);
      EXPECT_EQ(to.released, from.released) << name_of(from);
      if (!taken) {
        EXPECT_TRUE(same(from, to)) << name_of(from);
      } else
        EXPECT_FALSE(may_permit(to)) << name_of(from);
    }
  });
}

// One item, three tokens, a network that delivers any message at any time, any number of times, and
// writers that obey: a call only on the permit's own answer, at most once; never a call after
// not_sent; not_sent never after a call.
struct item_model {
  static constexpr int tokens = 3;
  struct attempt {
    bool claimed = false;  // it has a row
    attempt_facts facts;
    bool may_call = false;  // the answer `true` was received and neither used nor given up
    bool called = false;
    bool gave_up = false;  // has sent not_sent
    bool used_id = false;  // has asked for the permit, so the permit id is known to the network
  };
  std::array<attempt, tokens> all;
  int calls = 0;
  bool promoted = false;

  // Everything, in 57 bits.
  std::uint64_t key() const {
    std::uint64_t bits = static_cast<std::uint64_t>(calls) << 1 | (promoted ? 1 : 0);
    auto add = [&](unsigned value, int width) { bits = bits << width | value; };
    auto add_fact = [&](const fact& value) {
      add(value ? static_cast<unsigned>(*value) + 1 : 0, 3);
    };
    for (const attempt& each : all) {
      for (const fact& value : {each.facts.writer, each.facts.judged, each.facts.overridden})
        add_fact(value);
      for (bool flag : {each.facts.released, each.facts.contradicted, each.facts.permitted,
                        each.facts.own_lineage, each.claimed, each.may_call, each.called,
                        each.gave_up, each.used_id})
        add(flag ? 1 : 0, 1);
    }
    return bits;
  }
  int standing() const {
    int count = 0;
    for (const attempt& each : all) count += each.claimed && !each.facts.released ? 1 : 0;
    return count;
  }
};

template <class Visit>
void next_steps(const item_model& now, Visit&& visit) {
  for (int t = 0; t < item_model::tokens; ++t) {
    auto step = [&](auto&& change) {
      item_model to = now;
      change(to, to.all[static_cast<std::size_t>(t)]);
      visit(to);
    };
    const item_model::attempt& of = now.all[static_cast<std::size_t>(t)];
    if (!of.claimed) {
      if (now.standing() == 0 && !now.promoted)
        step([](item_model&, auto& a) { a.claimed = true; });
      // not_sent before its claim: the token is burnt.
      if (now.standing() == 0)
        step([](item_model&, auto& a) {
          a.claimed = true;
          a.gave_up = true;
          a.facts.released = true;
          a.facts.writer = outcome::not_sent;
        });
      continue;
    }
    bool const given = may_permit(of.facts) && now.standing() == 1;
    for (bool answer_lost : {false, true})
      step([&](item_model&, auto& a) {
        a.used_id = true;
        if (!given) return;
        a.facts.permitted = true;
        a.may_call = !answer_lost && !a.gave_up;
      });
    if (of.may_call)
      step([](item_model& to, auto& a) {
        a.may_call = false;
        a.called = true;
        ++to.calls;
      });
    if (!of.called)
      step([](item_model&, auto& a) {
        a.gave_up = true;
        a.may_call = false;
        (void)settle_attempt(a.facts, outcome::not_sent, a.used_id && a.facts.permitted);
      });
    if (of.called)
      for (outcome value : {outcome::failed, outcome::unknown})
        step([&](item_model&, auto& a) { (void)settle_attempt(a.facts, value, false); });
    // One definite outcome stands for both.
    for (outcome value : {outcome::failed, outcome::unknown, outcome::not_sent}) {
      step([&](item_model&, auto& a) { (void)judge_attempt(a.facts, value, true); });
      step([&](item_model&, auto& a) { (void)override_attempt(a.facts, value); });
    }
  }
  if (!now.promoted) {
    item_model to = now;
    to.promoted = true;
    for (auto& each : to.all) each.facts.own_lineage = false;
    visit(to);
  }
}

TEST(dispatch, one_item_is_called_at_most_once_under_any_messages) {
  std::unordered_set<std::uint64_t> seen;
  std::deque<item_model> open{item_model{}};
  seen.insert(open.front().key());
  std::size_t with_call = 0;
  while (!open.empty()) {
    item_model const now = open.front();
    open.pop_front();
    ASSERT_LE(now.calls, 1) << now.key();
    with_call += now.calls == 1 ? 1 : 0;
    for (const auto& each : now.all) {
      // Who called, or still may, holds the item.
      if (each.called || each.may_call) {
        ASSERT_FALSE(each.facts.released) << now.key();
      }
    }
    next_steps(now, [&](const item_model& to) {
      if (seen.insert(to.key()).second) open.push_back(to);
    });
  }
  EXPECT_GT(with_call, 100u);
}

}  // namespace
}  // namespace ql3
