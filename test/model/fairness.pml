/* Every claimable target is claimed in the end, whatever stands before it.
 *
 * Pages of one target, the hardest case. Every source row stays listed: each claim is settled resolved, and the target goes
 * to the end of the due order. One target is locked by a claimer that sleeps in its transaction, one is parked.
 *   0 parked; 1 locked for ever, due first; 2, 3 known and due; 4 listed late, behind discovery; 5 new, before discovery
 * The sweep gets its turn now and then (once a second), as the clock lets it: fairness is asked of time and of the claimer.
 */
#define TARGETS 6
#define PARKED 0
#define LOCKED 1

chan due = [TARGETS] of { byte };   /* the due-time order */
bool known[TARGETS];
byte discovery = 5, sweep;          /* places in the source's order */
bool turn;                          /* the sweep may make a step */
byte took = 255;                    /* the target of the last claim */

/* Promise: no starvation, no head-of-line blocking. */
ltl no_starvation { ([]<> (took == 2)) && ([]<> (took == 3)) && ([]<> (took == 4)) && ([]<> (took == 5)) }

inline take(i) { took = i; known[i] = true; due ! i; printf("MSC: takes %d\n", i) }

#ifdef M_WAIT                       /* a claim waits for a locked row */
#define SKIP_LOCKED goto stuck
#else
#define SKIP_LOCKED due ! t
#endif

proctype Claimer() {
  byte t, n; bool done;
  do
  :: atomic {
       done = false;
#ifndef M_NO_SWEEP                  /* what discovery has passed is not looked at again */
       if
       :: turn -> turn = false;
          if :: !known[sweep] && sweep != PARKED -> done = true; t = sweep :: else fi;
          sweep = (sweep + 1) % TARGETS;
          if :: done -> take(t) :: else fi
       :: else
       fi;
#endif
#ifdef M_OLDEST                     /* the oldest loss first: the same target again and again */
       if :: !done -> done = true; took = 2 :: else fi;
#endif
       n = len(due);
       do
       :: !done && n > 0 -> n--; due ? t;
          if :: t == LOCKED -> SKIP_LOCKED :: else -> done = true; take(t) fi
       :: else -> break
       od;
       if
       :: !done && discovery < TARGETS && !known[discovery] -> take(discovery); discovery++
       :: else
       fi;
       t = 0; n = 0 }
  od;
stuck: false
}

proctype Time() { do :: turn = true od }

init {
  atomic {
    known[PARKED] = true; known[LOCKED] = true; known[2] = true; known[3] = true;
    due ! LOCKED; due ! 2; due ! 3;
    run Claimer(); run Time()
  }
}
