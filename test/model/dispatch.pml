/* Dispatch of ONE (request, item) on one server: claim, permit, call, settle, not_sent, judgement, override, prune.
 *
 * An attempt is named by its token, so a[t] is the row of token t. A frame is one invocation of a writer; frame 3 is a
 * twin of frame 1 with the same token (a fork, a process that was copied) and a permit id of its own. A claim is two
 * steps, because it may run in a block of the caller: the answer first, COMMIT or rollback later, the item's lock held
 * between. Every other call is one step under that lock. Answers get lost, writers die anywhere, a message may run when
 * its sender has long given up, and again, as often as DUPS says. Recovery may judge at any time and may lie.
 */
#ifndef DUPS
#define DUPS 1
#endif
#define TOKENS 2
#define BIT(n) (1 << (n))

mtype = { NONE, SUCCEEDED, FAILED, UNKNOWN, NOT_SENT, RECORDED, FOREIGN, CONCLUDED, RELEASED, ABSENT }

typedef Attempt { bool is, released, contradicted; byte permit; mtype writer, judged, overridden };
Attempt a[TOKENS + 1];
byte lock;                      /* of the item */

byte calls;                     /* ghost: calls that went out */
byte trues;                     /* ghost: tokens whose permission was given */
byte may_call;                  /* ghost: frames that hold a permission and have not given it up */
byte called;                    /* ghost: tokens that called */
byte was_unknown;               /* ghost: tokens whose attempt was closed as unknown */
byte gave_up;                   /* ghost: tokens of which not_sent was answered */
mtype holds[TOKENS + 1];        /* ghost: the outcome that the writer of this token knows and has stored once */
byte sent_claim, sent_permit, sent_not_sent, sent_good, sent_unknown;   /* messages ever sent, by token or by permit id */

#ifdef TWIN                     /* two processes with one token speak with one voice: its first definite word stands */
#define HAS_TWIN(p) ((p) != 2)
#else
#define HAS_TWIN(p) false
#endif

#ifdef ALONE                    /* one promise at a time, to see that a mutant breaks this very one */
bit ALONE;
#else
bit one_call, permit_once, only_unsent_frees, unknown_closed, released_stays, known_outcome;
#endif

#define DEFINITE(f) ((f) != NONE && (f) != UNKNOWN)
#define FACTS(t) (a[t].writer != NONE || a[t].judged != NONE || a[t].overridden != NONE)
#define STANDS(t) (a[t].is && !a[t].released)
#define OTHER(t) (3 - (t))
#define TOKEN_OF(p) ((p) == 3 -> 1 : (p))

#ifdef M_TOKEN_BACK             /* a released token may claim again */
#define BACK(t) true
#else
#define BACK(t) false
#endif
#ifdef M_PERMIT_AGAIN           /* permission is read back, not a one-time mark */
#define UNPERMITTED(t) true
#else
#define UNPERMITTED(t) (a[t].permit == 0)
#endif
#ifdef M_FREE_WITHOUT_ID        /* not_sent frees a permitted attempt whoever says it */
#define GIVES_BACK(t, p) true
#else
#define GIVES_BACK(t, p) (a[t].permit == 0 || a[t].permit == (p))
#endif
#ifdef M_JUDGE_FREES            /* recovery may judge a permitted attempt not_sent */
#define JUDGED_NOT_SENT(t) true
#else
#define JUDGED_NOT_SENT(t) (a[t].permit == 0)
#endif

/* What a claim would answer. The first that holds. */
#define MAY_INSERT(t) (!(a[t].is && !(a[t].released && BACK(t))) && !STANDS(OTHER(t)))
#define OWN_CLAIMED(t) (STANDS(t) && !FACTS(t))

inline insert_attempt(t) {
  /* Promise: nothing makes unknown sendable. */
  assert(unknown_closed || !(was_unknown & BIT(OTHER(t))));
  /* Promise: an item is free again only when nothing was sent and nothing can be. */
  assert(only_unsent_frees || !(called & BIT(OTHER(t))));
  assert(only_unsent_frees || !(may_call & (OTHER(t) == 1 -> BIT(1) | BIT(3) : BIT(2))));
  /* Promise: a token that was given up never comes back, so a late duplicate is harmless. */
  assert(released_stays || !(gave_up & BIT(t)));
  a[t].is = true; a[t].released = false; a[t].permit = 0; a[t].writer = NONE; a[t].judged = NONE; a[t].overridden = NONE
}

inline give_permit(t, p) {
  /* Promise: true exactly once per attempt, ever. */
  assert(permit_once || !(trues & BIT(t)));
  a[t].permit = p; trues = trues | BIT(t)
}

/* not_sent of a token, under the permit id p. */
inline settle_not_sent(t, p) {
  if
  :: !a[t].is && STANDS(OTHER(t)) -> skip     /* foreign: nothing is kept, and a late claim may still land; recovery frees it */
#ifdef M_NO_BURN                /* not_sent of a token that has no row leaves nothing */
  :: !a[t].is && !STANDS(OTHER(t)) -> skip
#else
  :: !a[t].is && !STANDS(OTHER(t)) -> a[t].is = true; a[t].released = true; a[t].writer = NOT_SENT
#endif
  :: STANDS(t) && !FACTS(t) -> a[t].writer = NOT_SENT; a[t].released = GIVES_BACK(t, p)
#ifdef M_FREE_UNKNOWN           /* not_sent frees what was closed as unknown */
  :: STANDS(t) && FACTS(t) && !DEFINITE(a[t].judged) -> a[t].released = GIVES_BACK(t, p)
#endif
  :: else -> if :: a[t].is && !DEFINITE(a[t].writer) -> a[t].writer = NOT_SENT :: else fi
  fi;
  if :: a[t].is || !STANDS(OTHER(t)) -> gave_up = gave_up | BIT(t) :: else fi
}

/* succeeded, failed or unknown, by the exact token; ans is what it hears. */
inline settle_outcome(t, out, ans) {
  if
  :: !a[t].is -> ans = ABSENT
#ifdef M_JUDGE_WINS             /* a definite result is refused after a judgement */
  :: a[t].is && a[t].judged != NONE -> ans = CONCLUDED
#endif
#ifdef M_SECOND_FACT            /* a second definite fact replaces the first */
  :: a[t].is -> a[t].writer = out; ans = RECORDED
#else
  :: a[t].is && DEFINITE(a[t].writer) -> ans = (a[t].writer == out -> RECORDED : CONCLUDED)
  :: a[t].is && !DEFINITE(a[t].writer) && out == UNKNOWN && a[t].released -> ans = CONCLUDED
  :: a[t].is && !DEFINITE(a[t].writer) && !(out == UNKNOWN && a[t].released) -> a[t].writer = out; ans = RECORDED;
     if :: a[t].released -> a[t].released = false; a[t].contradicted = true :: else fi
#endif
  fi;
  if :: out == UNKNOWN -> was_unknown = was_unknown | BIT(t) :: else fi;
  /* Promise: the outcome a living writer holds is stored, however late and whatever others said, and stays. */
  assert(known_outcome || holds[t] == NONE || (a[t].is && (a[t].writer == holds[t] || HAS_TWIN(t))))
}

proctype Frame(byte p) {
  mtype out = NONE, ans = NONE; bool go, fresh;
  byte t = TOKEN_OF(p);

claim:                          /* a lost answer, or a lost COMMIT, is a repeat with the same token */
  sent_claim = sent_claim | BIT(t);
  atomic {
    lock == 0 ->
    if
    :: MAY_INSERT(t) -> fresh = true;
#ifndef M_NO_ITEM_LOCK          /* two claims of one item may run at once */
       lock = p
#endif
    :: !MAY_INSERT(t) && OWN_CLAIMED(t) -> skip
    :: !MAY_INSERT(t) && !OWN_CLAIMED(t) -> goto over         /* released, concluded or foreign: no call */
    fi
  }
  if
  :: atomic { fresh -> insert_attempt(t); fresh = false; lock = 0; printf("MSC: frame %d claims token %d\n", p, t) }
  :: atomic { fresh -> fresh = false; lock = 0; printf("MSC: the claim of frame %d is rolled back\n", p) } /* and it goes on */
  :: atomic { !fresh -> skip }
  fi;
  if :: skip :: goto claim :: goto over /* killed */ :: goto give_up fi;

#ifdef M_NO_PERMIT              /* the writer calls because its claim was recorded */
  goto call;
#endif
  sent_permit = sent_permit | BIT(p);
  if
#ifdef M_NO_TOKEN               /* whoever asks gets the permission of the attempt that stands */
  :: atomic { lock == 0 && STANDS(OTHER(t)) && OWN_CLAIMED(OTHER(t)) && UNPERMITTED(OTHER(t)) -> give_permit(OTHER(t), p) } goto call
#endif
  :: atomic { lock == 0 && OWN_CLAIMED(t) && UNPERMITTED(t) -> give_permit(t, p); may_call = may_call | BIT(p);
       printf("MSC: frame %d is permitted\n", p) }
#ifdef M_IN_BLOCK               /* the permit may run in a block, which is rolled back after its answer */
     if :: atomic { a[t].permit = 0; printf("MSC: the permit of frame %d is rolled back\n", p) } :: skip fi;
#endif
     if
     :: goto call
     :: atomic { may_call = may_call & ~BIT(p) } goto give_up     /* the answer was lost, or cut: given up for good */
     :: atomic { may_call = may_call & ~BIT(p) } goto over        /* killed */
     fi
  :: goto give_up               /* no answer: the message may still be under way */
  fi;

give_up:                        /* repeated until answered; whoever has sent it never calls */
  sent_not_sent = sent_not_sent | BIT(p);
  atomic { lock == 0 -> settle_not_sent(t, p); printf("MSC: frame %d says not_sent\n", p) }
  if :: goto give_up :: skip fi;
#ifdef M_LATE_TRUE              /* a true that arrives after giving up is used */
  a[t].permit == p && (trues & BIT(t)) -> goto call;
#endif
  goto over;

call:
  atomic { calls++; called = called | BIT(t); may_call = may_call & ~BIT(p); printf("MSC: frame %d CALLS\n", p);
    /* Promise: at most one call. */
    assert(one_call || calls <= 1) }
  if
  :: out = SUCCEEDED           /* failed is the same with another name */
  :: sent_unknown = sent_unknown | BIT(t);         /* it says unknown first, and learns the outcome later */
     atomic { lock == 0 -> settle_outcome(t, UNKNOWN, ans); printf("MSC: frame %d settles unknown: %e\n", p, ans) }
     if :: out = SUCCEEDED :: skip fi
  :: skip                       /* killed in the call: nobody knows */
  fi;
  if :: out == NONE -> goto over :: else fi;
settle:
  sent_good = sent_good | BIT(t);
  atomic { lock == 0 -> holds[t] = out; settle_outcome(t, out, ans); printf("MSC: frame %d settles %e: %e\n", p, out, ans) }
  if :: goto settle /* the answer was lost */ :: skip fi;
over:
  atomic { out = NONE; ans = NONE; go = false }
}

/* Messages that run again, or for the first time when their sender is gone. */
#define MORE (n < DUPS && lock == 0)
inline claim_again(t) { if :: MAY_INSERT(t) -> insert_attempt(t); printf("MSC: a late claim of token %d lands\n", t) :: else fi }
inline permit_again(t, p) {
  if :: OWN_CLAIMED(t) && UNPERMITTED(t) -> give_permit(t, p); printf("MSC: a late permit %d lands\n", p) :: else fi
}
proctype Network() {
  byte n; mtype ans = NONE;
  do
  :: atomic { MORE && (sent_claim & BIT(1)) -> n++; claim_again(1) }
  :: atomic { MORE && (sent_claim & BIT(2)) -> n++; claim_again(2) }
  :: atomic { MORE && (sent_permit & BIT(1)) -> n++; permit_again(1, 1) }
  :: atomic { MORE && (sent_permit & BIT(2)) -> n++; permit_again(2, 2) }
  :: atomic { MORE && (sent_permit & BIT(3)) -> n++; permit_again(1, 3) }
  :: atomic { MORE && (sent_not_sent & BIT(1)) -> n++; settle_not_sent(1, 1) }
  :: atomic { MORE && (sent_not_sent & BIT(2)) -> n++; settle_not_sent(2, 2) }
  :: atomic { MORE && (sent_not_sent & BIT(3)) -> n++; settle_not_sent(1, 3) }
  :: atomic { MORE && (sent_good & BIT(1)) -> n++; settle_outcome(1, SUCCEEDED, ans); ans = NONE }
  :: atomic { MORE && (sent_good & BIT(2)) -> n++; settle_outcome(2, SUCCEEDED, ans); ans = NONE }
  :: atomic { MORE && (sent_unknown & BIT(1)) -> n++; settle_outcome(1, UNKNOWN, ans); ans = NONE }
  :: atomic { MORE && (sent_unknown & BIT(2)) -> n++; settle_outcome(2, UNKNOWN, ans); ans = NONE }
  od
}

/* A judgement: only of an attempt without an outcome; not_sent only when no permission was given. */
inline judge(t, verdict) {
  a[t].judged = verdict; a[t].released = (verdict == NOT_SENT);
  if :: verdict == UNKNOWN -> was_unknown = was_unknown | BIT(t) :: else fi;
  printf("MSC: recovery judges token %d %e\n", t, verdict)
}
proctype Recovery() {
  byte t;
  do
  :: atomic { select (t : 1 .. 2);
       if
       :: lock == 0 && OWN_CLAIMED(t) -> judge(t, UNKNOWN)
       :: lock == 0 && OWN_CLAIMED(t) -> judge(t, FAILED)
       :: lock == 0 && OWN_CLAIMED(t) && JUDGED_NOT_SENT(t) -> judge(t, NOT_SENT)
       :: else
       fi; t = 0 }
  od
}

proctype Operator() {
  byte t;
  atomic { select (t : 1 .. 2); lock == 0 && STANDS(t) && !DEFINITE(a[t].overridden) ->
    if :: a[t].overridden = UNKNOWN; was_unknown = was_unknown | BIT(t)
       :: a[t].overridden = FAILED
       :: a[t].overridden = NOT_SENT
#ifdef M_OVERRIDE_FREES         /* an operator's not_sent frees the item */
          ; a[t].released = true
#endif
    fi; printf("MSC: override of token %d: %e\n", t, a[t].overridden) }
#ifdef M_PRUNE_ROW              /* prune removes a decided attempt and leaves no tombstone */
  atomic { lock == 0 && a[t].is && (FACTS(t) || a[t].released) -> a[t].is = false; a[t].released = false; printf("MSC: pruned\n") }
#endif
}

init {
  atomic {
    byte i;
    for (i : 1 .. TOKENS) { a[i].writer = NONE; a[i].judged = NONE; a[i].overridden = NONE; holds[i] = NONE }
    i = 0;
    run Frame(1); run Frame(2);
#ifdef TWIN
    run Frame(3);
#endif
    run Network(); run Recovery(); run Operator()
  }
}
