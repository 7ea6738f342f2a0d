/* Where the two halves meet: an attempt that outlived its writer is a target of recovery, under the kind dispatch.
 *
 * Two attempts can follow each other on one item. A supervisor claims the control row of one attempt, looks outside, and
 * concludes: it takes the control row's lock and tests the fence, then takes the item's lock and tests the attempt once
 * more, then writes both and commits. The writers go on all the while: extend, permit, call, settle, not_sent.
 */
#define ATTEMPTS 2
#define BIT(n) (1 << (n))
#ifndef PASSES
#define PASSES 2
#endif

mtype = { NONE, SUCCEEDED, FAILED, UNKNOWN, NOT_SENT }

typedef Attempt { bool is, released, permitted, due; mtype writer, judged };
typedef Control { byte holder, version, lock; bool expired };
Attempt a[ATTEMPTS + 1];
Control c[ATTEMPTS + 1];
byte item_lock;
byte calls;                 /* ghost */

#ifdef ALONE                /* one promise at a time, to see that a mutant breaks this very one */
bit ALONE;
#else
bit one_call, fenced_judgement, right_attempt, open_only, known_outcome;
#endif

#define STANDS(k) (a[k].is && !a[k].released)
#define OPEN(k) (STANDS(k) && a[k].writer == NONE && a[k].judged == NONE)
#define LISTED(k) (OPEN(k) && a[k].due)
#define FREE_ITEM (!STANDS(1) && !STANDS(2))

#ifdef M_NO_FENCE           /* conclude does not ask whether it still holds the claim */
#define FENCE(k, me, v) true
#else
#define FENCE(k, me, v) (c[k].holder == me && c[k].version == v && !c[k].expired)
#endif
#ifdef M_EARLIER_TEST       /* the attempt is tested when conclude begins, and not again under the item's lock */
#define AGAIN(k, verdict) true
#else
#define AGAIN(k, verdict) MAY_JUDGE(k, verdict)
#endif
#define MAY_JUDGE(k, verdict) (OPEN(k) && a[k].due && !(verdict == NOT_SENT && a[k].permitted))
#ifdef M_BY_ITEM            /* a judgement is of the item, and lands on whichever attempt stands */
#define JUDGED_ATTEMPT(k) (STANDS(1) -> 1 : (STANDS(2) -> 2 : k))
#else
#define JUDGED_ATTEMPT(k) k
#endif
#ifdef M_NO_CONTROL_LOCK    /* the control row is not locked from the fence's test to the commit */
#define HOLD_CONTROL(k, me) skip
#else
#define HOLD_CONTROL(k, me) c[k].lock = me
#endif

proctype Supervisor(byte me) {
  byte k, v, n, hit; mtype verdict; bool ok;
  do
  :: n < PASSES -> n++;
     if
     :: atomic { LISTED(1) && c[1].lock == 0 && (c[1].holder == 0 || c[1].expired) -> k = 1 }
     :: atomic { LISTED(2) && c[2].lock == 0 && (c[2].holder == 0 || c[2].expired) -> k = 2 }
     fi;
     atomic {
       if
       :: LISTED(k) && c[k].lock == 0 && (c[k].holder == 0 || c[k].expired) ->
          c[k].holder = me; c[k].version++; c[k].expired = false; v = c[k].version; printf("MSC: %d claims attempt %d\n", me, k)
       :: else -> goto next
       fi
     }
     if :: verdict = UNKNOWN :: verdict = FAILED :: verdict = NOT_SENT :: goto next /* vanished */ fi;
     atomic {
       c[k].lock == 0 ->
       ok = FENCE(k, me, v);
#ifdef M_EARLIER_TEST
       ok = ok && MAY_JUDGE(k, verdict);
#endif
       if :: ok -> HOLD_CONTROL(k, me) :: else -> goto next fi
     }
     atomic {
       item_lock == 0 ->
       hit = JUDGED_ATTEMPT(k);
       if
       :: AGAIN(hit, verdict) ->
          /* Promise: a supervisor that was overtaken judges nothing. */
          assert(fenced_judgement || (c[k].holder == me && c[k].version == v));
          /* Promise: a judgement can never land on a later attempt. */
          assert(right_attempt || hit == k);
          /* Promise: only an attempt that is still open, and overdue, is judged; not_sent only if it has no permission. */
          assert(open_only || MAY_JUDGE(hit, verdict));
          a[hit].judged = verdict; a[hit].released = (verdict == NOT_SENT);
          printf("MSC: %d concludes attempt %d %e\n", me, hit, verdict)
       :: else -> printf("MSC: %d hears stale of attempt %d\n", me, hit)
       fi;
       if :: c[k].holder == me && c[k].version == v -> c[k].holder = 0 :: else fi;
       if :: c[k].lock == me -> c[k].lock = 0 :: else fi
     }
next: atomic { k = 0; v = 0; hit = 0; verdict = NONE; ok = false }
  :: else -> break
  od
}

proctype Writer(byte k) {
  atomic { item_lock == 0 && FREE_ITEM -> a[k].is = true; printf("MSC: writer %d claims\n", k) }
  if :: skip :: goto over fi;
  if
  :: atomic { item_lock == 0 && OPEN(k) -> a[k].due = false; printf("MSC: writer %d extends\n", k) }
  :: skip
  fi;
  if
  :: atomic { item_lock == 0 && OPEN(k) && !a[k].permitted -> a[k].permitted = true; a[k].due = false; printf("MSC: writer %d is permitted\n", k) }
     if :: skip :: goto over fi;
     /* Promise: at most one call, whatever recovery concludes meanwhile. */
     atomic { calls++; printf("MSC: writer %d CALLS\n", k); assert(one_call || calls <= 1) }
     if :: skip :: goto over fi;
     atomic { item_lock == 0 -> a[k].writer = SUCCEEDED; a[k].released = false;
       /* Promise: the writer's own result goes before a judgement. */
       assert(known_outcome || (a[k].is && a[k].writer == SUCCEEDED)); printf("MSC: writer %d settles\n", k) }
  :: atomic { item_lock == 0 && OPEN(k) && !a[k].permitted -> a[k].writer = NOT_SENT; a[k].released = true; printf("MSC: writer %d says not_sent\n", k) }
  :: !OPEN(k)
  fi;
over: skip
}

proctype Time() {
  do
  :: atomic { OPEN(1) && !a[1].due -> a[1].due = true }
  :: atomic { OPEN(2) && !a[2].due -> a[2].due = true }
  :: atomic { c[1].holder != 0 && !c[1].expired -> c[1].expired = true; printf("MSC: a claim runs out\n") }
  :: atomic { c[2].holder != 0 && !c[2].expired -> c[2].expired = true; printf("MSC: a claim runs out\n") }
  od
}

init {
  atomic {
    byte i;
    for (i : 1 .. ATTEMPTS) { a[i].writer = NONE; a[i].judged = NONE }
    i = 0;
    run Writer(1); run Writer(2); run Supervisor(1); run Supervisor(2); run Time()
  }
}
