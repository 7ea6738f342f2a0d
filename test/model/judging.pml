/* Every attempt that outlived its writer is judged in the end, or its writer turns out to live.
 *
 * Two supervisors claim overdue attempts, ask a probe and conclude. They vanish, claims run out under a living one, the
 * provider of the probe is away, writers extend and settle meanwhile, each of it a bounded number of times; the breaker parks
 * what several owners vanished with, for an operator. Weak fairness is asked of supervisors, time and operator, a process for
 * each attempt; writers owe nothing.
 */
#define ATTEMPTS 2
#ifndef DOUBTS
#define DOUBTS 1            /* doubtful answers, then it is concluded as unknown (the program: 3) */
#endif
#ifndef BREAKER
#define BREAKER 1           /* owners that vanished, then it is parked (the server: 3) */
#endif
#ifndef VANISH
#define VANISH 1            /* how often a supervisor may vanish with one attempt */
#endif
#ifndef EARLY
#define EARLY 0             /* how often a claim may run out while its supervisor lives: renewals get through in the end */
#endif
#ifndef AWAY
#define AWAY 0              /* how often the provider may be away for one attempt */
#endif

mtype = { AVAILABLE, CLAIMED, WAITING, MANUAL }

typedef Attempt { bool open, dead, overdue; byte doubts, away, extended, early, lost };
typedef Control { mtype state; byte holder, vanished; bool over, gone };
Attempt a[ATTEMPTS];
Control c[ATTEMPTS];
byte turn;                  /* where selection goes on */

#define NEEDS(i) (a[i].open && a[i].dead)
#define LISTED(i) (a[i].open && a[i].overdue)
#define CLAIMABLE(i) (LISTED(i) && (c[i].state == AVAILABLE || (c[i].state == CLAIMED && c[i].over)))

/* Promise: whatever needs judgement is judged; said of the attempt that has the other one before it. */
ltl every_dispatch_judged { [] (NEEDS(1) -> <> !NEEDS(1)) }

#ifdef M_FOREVER            /* a doubtful answer is asked for again, however often */
#define DOUBTS_OVER(i) false
#else
#define DOUBTS_OVER(i) (a[i].doubts == DOUBTS)
#endif

#define CHOOSE i = turn; if :: CLAIMABLE(i) :: else -> i = 1 - i fi; turn = 1 - i
#define WAIT(i) c[i].state = WAITING

#ifdef M_STALE_ENDS         /* stale is taken for an end: the attempt is not looked at again */
#define STALE(i) c[i].state = MANUAL; c[i].vanished = 255
#else
#define STALE(i) WAIT(i)
#endif

proctype Supervisor(byte me) {
  byte i; bool sure;
  do
  :: atomic {
       CLAIMABLE(0) || CLAIMABLE(1) ->
       CHOOSE;
       if
       :: c[i].state == CLAIMED -> c[i].vanished++; printf("MSC: the claim of %d ran out\n", c[i].holder)
       :: else
       fi;
       if
       :: c[i].vanished >= BREAKER -> c[i].state = MANUAL; c[i].holder = 0; printf("MSC: attempt %d is parked\n", i); goto next
       :: else -> c[i].state = CLAIMED; c[i].holder = me; c[i].over = false; c[i].gone = false; printf("MSC: %d claims attempt %d\n", me, i)
       fi }
     if
     :: sure = true
     :: a[i].doubts < DOUBTS || !DOUBTS_OVER(i) -> sure = false     /* not away: it looked, and cannot tell */
     :: a[i].away < AWAY -> a[i].away++;                             /* provider_unavailable: again later */
        atomic { if :: c[i].holder == me -> c[i].holder = 0; WAIT(i) :: else fi; goto next }
     :: atomic { a[i].lost < VANISH -> a[i].lost++;                  /* vanishes; another process takes its place */
          if :: c[i].holder == me -> c[i].gone = true :: else fi; goto next }
     fi;
     atomic {
       if
       :: c[i].holder != me || c[i].state != CLAIMED || c[i].over -> printf("MSC: %d is fenced\n", me)
       :: else ->
          c[i].holder = 0;
          if
          :: !sure && !DOUBTS_OVER(i) -> a[i].doubts = (a[i].doubts < DOUBTS -> a[i].doubts + 1 : DOUBTS); WAIT(i);
             printf("MSC: attempt %d is doubtful\n", i)
          :: LISTED(i) && (sure || DOUBTS_OVER(i)) -> a[i].open = false; c[i].state = AVAILABLE; printf("MSC: attempt %d is judged\n", i)
          :: else -> STALE(i); printf("MSC: attempt %d is stale\n", i)
          fi
       fi }
next: atomic { i = 0; sure = false }
  od
}

/* One for each thing that passes with time, so that fairness is asked of each. */
proctype Waits(byte i) { do :: atomic { c[i].state == WAITING -> c[i].state = AVAILABLE } od }
proctype Ages(byte i) { do :: atomic { a[i].open && !a[i].overdue -> a[i].overdue = true } od }
#ifndef M_ENDLESS           /* the claim of a supervisor that vanished lasts for ever */
proctype Lapses(byte i) {
  do
  :: atomic { c[i].state == CLAIMED && !c[i].over && c[i].gone -> c[i].over = true }
  :: atomic { c[i].state == CLAIMED && !c[i].over && a[i].early < EARLY -> a[i].early++; c[i].over = true }
  od
}
#endif
#ifndef M_NOBODY            /* nobody looks at what is parked */
proctype Operator(byte i) {
  do :: atomic { c[i].state == MANUAL && c[i].vanished != 255 -> c[i].state = AVAILABLE; c[i].vanished = 0; printf("MSC: attempt %d is released\n", i) } od
}
#endif

proctype Writer(byte i) {
  do
  :: atomic { a[i].open && a[i].extended < 1 -> a[i].overdue = false; a[i].extended++; printf("MSC: writer %d extends\n", i) }
  :: atomic { a[i].open -> a[i].open = false; printf("MSC: writer %d settles\n", i); break }
  :: atomic { a[i].dead = true; printf("MSC: writer %d dies\n", i); break }
  od
}

init {
  atomic {
    byte i;
    for (i : 0 .. ATTEMPTS - 1) { a[i].open = true; c[i].state = AVAILABLE }
    for (i : 0 .. ATTEMPTS - 1) {
      run Writer(i); run Waits(i); run Ages(i);
#ifndef M_ENDLESS
      run Lapses(i);
#endif
#ifndef M_NOBODY
      run Operator(i)
#endif
    }
    i = 0;
    run Supervisor(1); run Supervisor(2)
  }
}
