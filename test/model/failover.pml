/* Dispatch of ONE item over TWO databases: 0 is the old primary, 1 what was promoted (or restored from a dump, or opened
 * from a copy: another lineage that begins with what replication, or the copy, had).
 *
 * Each frame has a token of its own; with -DTWIN frame 3 shares token 1 and has its own permit id. A client may reach
 * either server as long as it serves; with -DSPLIT the old one goes on after the promotion. What one server does is one
 * step. Writers are careless: they take an answer whose COMMIT warned that a wait was cancelled.
 *
 * -DSYNC: commits of the old primary wait for the standby, unless the wait is cancelled. Without it, replication runs at
 * any time, or never. -DMETHOD=1 the operator confirms by the method synchronous, =2 by drained; each only when what it
 * asserts is true. -DSNAPSHOT: no promotion; the files of the old primary are set back to an earlier state.
 */
#ifndef METHOD
#define METHOD 2
#endif
#define TOKENS 2
#define BIT(n) (1 << (n))
#define OTHER(t) (3 - (t))
#define TOKEN_OF(p) ((p) == 3 -> 1 : (p))

mtype = { NONE, SUCCEEDED, UNKNOWN, NOT_SENT }

/* An attempt on one database. home: the lineage that wrote the row. */
typedef Attempt { bool is, released; byte permit, home; mtype writer, judged };
typedef Database { Attempt a[TOKENS + 1]; bool recorded };
Database db[3];             /* 2: the earlier state that SNAPSHOT goes back to */
bool old_serves = true, promoted, confirmed, halted_by_hand, lineage_seen, set_back;

byte calls, called;         /* ghost: how many, and by which tokens */
byte alive;                 /* ghost: frames that may hold a permission of the old primary */

#ifdef ALONE                /* one promise at a time, to see that a mutant breaks this very one */
bit ALONE;
#else
bit one_call, known_outcome;
#endif

#define STANDS(s, t) (db[s].a[t].is && !db[s].a[t].released)
#define FACTS(s, t) (db[s].a[t].writer != NONE || db[s].a[t].judged != NONE)
#define CLAIMED(s, t) (STANDS(s, t) && !FACTS(s, t))
#define SERVES(s) ((s) == 0 -> old_serves : promoted)

#ifdef M_NO_HALT            /* only new items are halted; this one has a row of an attempt that was released long ago */
#define GAP false
#else
#ifdef M_LATE_LINEAGE       /* the lineage is written with the first dispatch, not at the install */
#define GAP (promoted && !confirmed && (db[1].a[1].is || db[1].a[2].is))
#else
#define GAP (promoted && !confirmed)
#endif
#endif
#define HALTED(s) (halted_by_hand || ((s) == 1 && GAP))

#ifdef M_OLD_PERMIT         /* an attempt of an earlier lineage may be permitted */
#define OWN(s, t) true
#else
#define OWN(s, t) (db[s].a[t].home == (s))
#endif
#ifdef M_OLD_FREES          /* not_sent frees an attempt of an earlier lineage, as far as the rows tell */
#define FREES(s, t) true
#else
#define FREES(s, t) (db[s].a[t].home == (s))
#endif
/* The permit proves that the claim is on the standby. */
#if defined(SYNC) && !defined(M_NO_PROOF)
#define PROVEN(s, t) ((s) == 1 || (!promoted && db[1].a[t].is))
#else
#define PROVEN(s, t) true
#endif

inline copy_attempt(from, to, t) {
  db[to].a[t].is = db[from].a[t].is; db[to].a[t].released = db[from].a[t].released;
  db[to].a[t].permit = db[from].a[t].permit; db[to].a[t].home = db[from].a[t].home;
  db[to].a[t].writer = db[from].a[t].writer; db[to].a[t].judged = db[from].a[t].judged
}
inline copy_rows(from, to) {
  copy_attempt(from, to, 1); copy_attempt(from, to, 2); db[to].recorded = db[from].recorded
}

/* COMMIT: waits for the standby, or the wait is cancelled and the row is visible all the same. */
inline commit(s) {
#ifdef SYNC
  if :: s == 0 && !promoted -> copy_rows(0, 1); :: skip fi
#else
  skip
#endif
}

inline choose_server(s) { if :: atomic { old_serves -> s = 0 } :: atomic { promoted -> s = 1 } fi }

proctype Frame(byte p) {
  byte s; byte t = TOKEN_OF(p); byte tries;
#ifdef LATE                 /* a frame that begins when it is decided which server lives */
  if :: p == 2 -> promoted || set_back :: else fi;
#endif
  choose_server(s);
  atomic {
    if
    :: SERVES(s) && CLAIMED(s, t) -> skip
    :: SERVES(s) && !db[s].a[t].is && !STANDS(s, OTHER(t)) && !db[s].recorded && !HALTED(s) ->
       db[s].a[t].is = true; db[s].a[t].home = s; commit(s); printf("MSC: frame %d claims on %d\n", p, s)
    :: else -> goto over                      /* halted, foreign, concluded, gone */
    fi
  }
  if :: skip :: goto not_sent fi;
permit:
  choose_server(s);
  atomic {
    if
    :: SERVES(s) && CLAIMED(s, t) && !STANDS(s, OTHER(t)) && db[s].a[t].permit == 0 && OWN(s, t) && !HALTED(s) && PROVEN(s, t) ->
       db[s].a[t].permit = p; commit(s); printf("MSC: frame %d is permitted on %d\n", p, s);
       if :: s == 0 -> alive = alive | BIT(p) :: else fi
    :: SERVES(s) && CLAIMED(s, t) && (HALTED(s) || !PROVEN(s, t)) && tries == 0 -> tries = 1; goto permit     /* no mark: again, once */
    :: else -> goto not_sent
    fi
  }
  if
  :: skip
  :: goto not_sent                            /* no answer: given up */
  :: goto over                                /* killed */
  fi;

  atomic { calls++; called = called | BIT(t); printf("MSC: frame %d CALLS\n", p);
    /* Promise: at most one call, over every lineage. */
    assert(one_call || calls <= 1) }
  if :: skip :: goto over /* killed in the call */ fi;

  /* The outcome is stored where a server answers; where the row is gone, it is asserted again, also while halted. */
  tries = 0;
settle:
  choose_server(s);
  atomic {
    if
    :: SERVES(s) && db[s].a[t].is -> db[s].a[t].writer = SUCCEEDED; db[s].a[t].released = false; commit(s)
#ifndef M_NO_REASSERT       /* the writer gives its outcome up when the row is gone */
    :: SERVES(s) && !db[s].a[t].is ->
       if
       :: CLAIMED(s, OTHER(t)) && db[s].a[OTHER(t)].permit == 0 && db[s].a[OTHER(t)].home == s ->
          db[s].a[OTHER(t)].judged = NOT_SENT; db[s].a[OTHER(t)].released = true
       :: else
       fi;
       db[s].a[t].is = true; db[s].a[t].home = s; db[s].a[t].writer = SUCCEEDED; commit(s)
#else
    :: SERVES(s) && !db[s].a[t].is -> skip
#endif
    :: !SERVES(s) -> goto settle
    fi;
    printf("MSC: frame %d stores its outcome on %d\n", p, s);
    /* Promise: the outcome of a living writer is stored, on the server that answered it. */
    assert(known_outcome || db[s].a[t].writer == SUCCEEDED)
  }
  goto over;

not_sent:
  choose_server(s);
  atomic {
    alive = alive & ~BIT(p);
    if
    :: SERVES(s) && CLAIMED(s, t) ->
       db[s].a[t].writer = NOT_SENT;
       db[s].a[t].released = (db[s].a[t].permit == 0 -> FREES(s, t) : db[s].a[t].permit == p);
       commit(s); printf("MSC: frame %d says not_sent on %d\n", p, s)
    :: else
    fi
  }
over:
  atomic { alive = alive & ~BIT(p); s = 0; tries = 0 }
}

/* Recovery judges without looking well: not_sent wherever it is allowed to say so, else unknown. */
proctype Recovery() {
  byte s, t;
  do
  :: atomic { select (s : 0 .. 1); select (t : 1 .. 2);
       if
       :: SERVES(s) && CLAIMED(s, t) && db[s].a[t].permit == 0 && FREES(s, t) ->
          db[s].a[t].judged = NOT_SENT; db[s].a[t].released = true; commit(s); printf("MSC: recovery on %d: token %d was not sent\n", s, t)
       :: SERVES(s) && CLAIMED(s, t) -> db[s].a[t].judged = UNKNOWN; commit(s)
       :: else
       fi; s = 0; t = 0 }
  od
}

#ifndef SYNC
proctype Replication() {
  do
  :: atomic { !promoted -> copy_rows(0, 1) }
  od
}
#endif

proctype Failure() {
#ifdef SNAPSHOT
  atomic { copy_rows(0, 2) }
#ifndef M_SNAPSHOT          /* nobody halts by hand before the set-back server serves again */
  atomic { halted_by_hand = true; old_serves = false }
#endif
  atomic { copy_rows(2, 0); old_serves = true; set_back = true; printf("MSC: the files are set back\n") }
#else
  atomic { promoted = true; printf("MSC: 1 is promoted\n");
#ifdef SPLIT
    if :: old_serves = false :: skip fi
#else
    old_serves = false
#endif
  }
  atomic { old_serves -> old_serves = false; printf("MSC: 0 is fenced\n") }
#endif
}

/* What each method asserts, and that it is so. */
#ifdef M_BLIND              /* confirmed without looking */
#define TRUE_SYNCHRONOUS true
#define TRUE_DRAINED true
#else
#ifdef M_NOT_ENDED          /* drained, although a process that may hold a permission still runs */
#define TRUE_DRAINED (!old_serves || set_back)
#else
#define TRUE_DRAINED ((!old_serves || set_back) && alive == 0)
#endif
#ifdef SYNC
#define TRUE_SYNCHRONOUS true
#else
#ifdef M_FALSE_SYNCHRONOUS  /* asserted of a standby that was asynchronous */
#define TRUE_SYNCHRONOUS true
#else
#define TRUE_SYNCHRONOUS false
#endif
#endif
#endif
#define LIVE (set_back -> 0 : 1)
proctype Operator() {
  byte s;
  atomic {
    ((promoted || set_back) && (METHOD == 1 -> TRUE_SYNCHRONOUS : TRUE_DRAINED)) -> s = LIVE;
#ifndef M_NO_RECORD         /* drained, but what was sent in the gap is not looked up and recorded */
    if
    :: METHOD == 2 && called != 0 && !STANDS(s, 1) && !STANDS(s, 2) -> db[s].recorded = true; printf("MSC: the call is recorded\n")
#ifndef M_NO_OVERRIDE       /* an attempt that the earlier state shows open, and that was sent, is left to recovery */
    :: METHOD == 2 && called != 0 && set_back && (CLAIMED(s, 1) || CLAIMED(s, 2)) ->
       if :: CLAIMED(s, 1) -> db[s].a[1].judged = UNKNOWN :: else -> db[s].a[2].judged = UNKNOWN fi;
       printf("MSC: the open attempt is overridden\n")
#endif
    :: else
    fi;
#endif
    confirmed = true; halted_by_hand = false; s = 0; printf("MSC: confirmed\n")
  }
}

init {
  atomic {
    byte s, t;
    for (s : 0 .. 2) { for (t : 1 .. TOKENS) { db[s].a[t].writer = NONE; db[s].a[t].judged = NONE } }
    s = 0; t = 0;
    run Frame(1);
#ifndef ONE_TOKEN           /* frame 2 stays away */
    run Frame(2);
#endif
#ifdef TWIN
    run Frame(3);
#endif
#ifndef SYNC
    run Replication();
#endif
    run Recovery(); run Failure(); run Operator()
  }
}
