/* Recovery of ONE target: claim, renew, settle, conclude, give back, takeover, clock, incidents, prune, failover.
 *
 * A call of the server is two steps, like a transaction: it takes the row's lock, reads the clock, and decides; then it
 * commits or is rolled back. The client may lose an answer and repeat, and may vanish; the network runs messages again
 * that were sent at any time before. With -DCARELESS it also uses an answer whose transaction is rolled back then.
 *
 * Time is a small number. A lease is one tick, and a claim is valid iff now < expiry <= now + 1, so the clock may step
 * forward and back at any moment, and the one predicate covers expiry and steps alike.
 *
 * Bounds (-D): SUPS pages, DUPS network repeats, FACTS new incidents, OPS acts of an operator, PRUNES, FORGETS (a page
 * is forgotten although its messages are still under way), FAILS promotions of an older copy.
 * Mutants (-DM_…): see the file "checks"; each breaks one rule.
 */
#ifndef SUPS
#define SUPS 2
#endif
#ifndef DUPS
#define DUPS 1
#endif
#ifndef FACTS
#define FACTS 1
#endif
#ifndef OPS
#define OPS 0
#endif
#ifndef PRUNES
#define PRUNES 0
#endif
#ifndef FORGETS
#define FORGETS 0
#endif
#ifndef FAILS
#define FAILS 0
#endif

#define LEASE 1
#ifndef LATEST
#define LATEST 2            /* the clock moves between 0 and here */
#endif
#define TIMELINE_STEP 6     /* stands for 2^40 */
#define BIT(t) (1 << (t))

mtype = { ABSENT, AVAILABLE, CLAIMED, RETRY, MANUAL, RESOLVED, GIVEN_BACK, NOTHING }

/* The control row, and the lock on it. */
typedef Row {
  mtype st; byte tok; byte ver; byte expiry; byte next; byte incident; /* as handed out */
  byte end_tok; byte end_ver; mtype end_how;                          /* how the last claim ended: to recognise a repeat */
  byte grant; byte until; bool open                                   /* ghost: which grant stands here, and until when */
}
Row row;
Row copy;                   /* what a standby has */
byte lock;                  /* 0, or the transaction that holds the row */
byte pages, copy_pages;     /* tokens that have claimed */
byte floor, copy_floor;     /* no version at or below it */
byte timeline;              /* 0, then 1 */
byte now = 1;
bool listed = true;         /* the source */
byte incident;

byte grants;                /* ghost: how many there were */
byte highest;               /* ghost: the highest version ever granted */
byte opened;                /* ghost: tokens that were given a page and not forgotten */

/* What was ever sent: the network may run it again. Settles carry, as ghosts, the grant and incident they speak of. */
byte sent_claims;
typedef Words { byte ver; mtype how; byte grant; byte incident };
Words said[SUPS + 1];

/* The promises, by name, so that a violation says which one it broke. */
#ifdef ALONE                /* one promise at a time, to see that a mutant breaks this very one */
bit ALONE;
#else
bit one_holder, no_stale_write, in_time, version_grows, token_once, one_incident, same_answer, manual_stays,
    retry_waits;
#endif

#define REACH(t) (now < (t) && (t) <= now + LEASE)

#ifdef M_ENDLESS            /* a claim is valid until its expiry, however far ahead */
#define VALID (now < row.expiry)
#else
#define VALID REACH(row.expiry)
#endif
#ifdef M_EARLY              /* an unexpired claim may be taken */
#define HELD false
#else
#define HELD VALID
#endif
#ifdef M_HURRY              /* retry is claimable before its time */
#define WAITS false
#else
#define WAITS REACH(row.next)
#endif
#ifdef M_UNPARK             /* manual is handed out */
#define PARKED false
#else
#define PARKED (row.st == MANUAL)
#endif
#define CLAIMABLE \
  (listed && !PARKED && !(row.st == CLAIMED && HELD) && !(row.st == RETRY && WAITS) && \
   !(row.st == RESOLVED && REACH(row.next) && incident == row.incident))

#ifdef M_NO_RETEST          /* a target is handed out on what was read before its lock */
#define RETEST true
#else
#define RETEST CLAIMABLE
#endif
#ifdef M_FORGETFUL          /* a token may claim again when its page is over */
#define MAY_OPEN(t) true
#else
#define MAY_OPEN(t) (!(pages & BIT(t)))
#endif

#ifdef M_NO_TOKEN           /* the fence does not compare the token */
#define SAME_TOKEN(t) true
#else
#define SAME_TOKEN(t) (row.tok == (t))
#endif
#ifdef M_NO_VERSION         /* the fence does not compare the version */
#define SAME_VERSION(v) true
#else
#define SAME_VERSION(v) (row.ver == (v))
#endif
#ifdef M_NO_EXPIRY          /* the fence does not ask whether the claim ran out */
#define STILL_VALID true
#else
#ifdef M_OLD_CLOCK          /* the clock is read when the call arrives, before the lock */
#define STILL_VALID (arrived < row.expiry && row.expiry <= arrived + LEASE)
#else
#define STILL_VALID VALID
#endif
#endif
#define FENCE(t, v) (row.st == CLAIMED && SAME_TOKEN(t) && SAME_VERSION(v) && STILL_VALID)

#ifdef M_NO_LOCK            /* settle decides on what it read, and writes later */
#define TAKE_LOCK(me) skip
#else
#define TAKE_LOCK(me) lock = me
#endif

#define MAX2(a, b) ((a) > (b) -> (a) : (b))
#ifdef M_NO_FLOOR           /* versions begin anew after a prune */
#define FLOOR 0
#else
#define FLOOR floor
#endif
#ifdef M_NO_TIMELINE        /* versions go on from the copy after a promotion */
#define TIMELINE 0
#else
#define TIMELINE (timeline * TIMELINE_STEP)
#endif
#define NEXT_VERSION (1 + MAX2(MAX2(row.ver, FLOOR), TIMELINE))

/* Promise: an unexpired claim cannot be taken; manual waits for an operator; retry waits its time. */
inline check_take() {
  assert(one_holder || !(row.open && REACH(row.until)));
  assert(manual_stays || row.st != MANUAL);
  assert(retry_waits || !(row.st == RETRY && REACH(row.next)))
}

/* Step 2 of a claim: what it wrote becomes visible. */
inline grant_page(t, v, e, f, g) {
  /* Promise: the version strictly grows, through prune and promotion. */
  assert(version_grows || v > highest);
  /* Promise: a token opens one page, whatever is repeated, as long as the page is remembered. */
  assert(token_once || !(opened & BIT(t)));
  highest = v; grants++; g = grants; opened = opened | BIT(t); pages = pages | BIT(t);
  row.st = CLAIMED; row.tok = t; row.ver = v; row.expiry = e; row.next = 0; row.incident = f;
  row.end_tok = 0; row.end_ver = 0; row.end_how = NOTHING;
  row.grant = g; row.open = true; row.until = e
}

inline end_row(t, v, how) {
  row.tok = 0; row.expiry = 0; row.next = 0; row.open = false; row.until = 0; row.grant = 0;
#ifndef M_NO_REPEAT         /* how a claim ended is not remembered */
  row.end_tok = t; row.end_ver = v; row.end_how = how;
#endif
}

/* What a settle, conclude (RESOLVED) or give back writes. g and f: grant and incident the caller saw. */
inline end_claim(t, v, how, g, f, same) {
  /* Promise: a write by anyone but the holder of the last grant changes nothing. */
  assert(no_stale_write || g == row.grant);
  if
  :: how == GIVEN_BACK -> row.st = AVAILABLE
  :: (how == MANUAL || how == RETRY) && !same -> row.st = AVAILABLE        /* superseded: another incident */
  :: (how == MANUAL || how == RETRY) && same -> row.st = how
  :: how == RESOLVED && listed && f == incident -> row.st = RESOLVED       /* still listed: waits */
  :: how == RESOLVED && !(listed && f == incident) -> row.st = AVAILABLE
  fi;
  end_row(t, v, how);
  if :: row.st == RETRY || row.st == RESOLVED -> row.next = now + LEASE :: else fi
}

#ifdef M_NO_INCIDENT        /* retry and manual are stored whatever the source says now */
#define SAME_INCIDENT true
#else
#define SAME_INCIDENT (listed && incident == row.incident)
#endif

/* Promise: settle, renew and conclude act only while the claim is valid by the clock read under the lock. */
inline check_fence_time() { assert(in_time || REACH(row.expiry)) }
/* Promise: retry and manual speak about one incident, the one handed out. */
inline check_incident(how, f, same) {
  assert(one_incident || !same || (how != MANUAL && how != RETRY) || (listed && f == incident))
}

proctype Supervisor(byte t) {
  byte v, g, e, f, arrived;
  byte by;                /* ghost: number of grants when our ending was applied; 0 = not applied */
  mtype how = NOTHING; bool ok, same;

  /* claim: never waits for a lock; a lost answer is a repeat with the same token */
again:
  sent_claims = sent_claims | BIT(t);
#ifdef M_NO_RETEST
  CLAIMABLE;
#endif
  atomic {
    if
    :: (pages & BIT(t)) && row.st == CLAIMED && row.tok == t && VALID ->      /* the repeat: what is still held */
       v = row.ver; f = row.incident; g = row.grant; goto probe
    :: !((pages & BIT(t)) && row.st == CLAIMED && row.tok == t && VALID) && MAY_OPEN(t) && lock == 0 && RETEST ->
       check_take();
       lock = t; v = NEXT_VERSION; e = now + LEASE; f = incident
    :: else ->            /* an empty page: nothing claimable, or somebody holds the row */
       goto over
    fi
  }
  if
  :: atomic { grant_page(t, v, e, f, g); lock = 0; printf("MSC: %d claims, version %d\n", t, v) }
     if :: skip :: goto again /* the answer was lost */ fi
  :: atomic { lock = 0; g = 0; v = 0; e = 0; f = 0 } goto again              /* rolled back, and it says so */
#ifdef CARELESS             /* a client that uses an answer without waiting for its COMMIT, and does not repeat it */
  :: atomic { lock = 0; g = 0; sent_claims = sent_claims & ~BIT(t); printf("MSC: %d uses an answer that is rolled back\n", t) }
#endif
#ifdef M_CARELESS           /* the same, while the network may repeat its claim */
  :: atomic { lock = 0; g = 0; printf("MSC: %d uses an answer that is rolled back\n", t) }
#endif
  fi;

probe:
  /* The probe looks outside and may take for ever. Then: prolong, end, or vanish. */
  if
  :: atomic { lock == 0 && FENCE(t, v) ->
       e = now + LEASE;
       check_fence_time(); assert(no_stale_write || g == row.grant);
       row.expiry = e; row.until = e; printf("MSC: %d renews\n", t) }
  :: skip
  :: goto over            /* vanished; the claim runs out */
  fi;
  e = 0;
  if :: how = RESOLVED :: how = RETRY :: how = MANUAL :: how = GIVEN_BACK fi;
#if DUPS > 0
  d_step { said[t].ver = v; said[t].how = how; said[t].grant = g; said[t].incident = f };
#endif
settle:
#ifdef M_OLD_CLOCK
  arrived = now;
#endif
  atomic {
    lock == 0 -> TAKE_LOCK(t);      /* waits at most a second; 55P03 is a repeat */
    ok = FENCE(t, v); same = SAME_INCIDENT;
    if :: ok -> check_fence_time(); check_incident(how, f, same) :: else fi
  }
  if
  :: atomic { true;
       if
       :: ok -> end_claim(t, v, how, g, f, same); by = grants; printf("MSC: %d settles %e\n", t, how)
       :: else ->
          /* Promise: a repeat answers the same word until the next claim (or until the row is pruned or lost). */
          assert(same_answer || by == 0 || by != grants || row.st == ABSENT || timeline > 0 ||
                 (row.end_tok == t && row.end_ver == v && row.end_how == how));
          printf("MSC: %d is fenced, or repeats\n", t)
       fi;
       ok = false; same = false; if :: lock == t -> lock = 0 :: else fi }
  :: atomic { true; if :: lock == t -> lock = 0 :: else fi } goto settle     /* rolled back, and it says so */
  fi;
  if :: goto settle /* the answer was lost */ :: skip fi;
over:
  atomic { v = 0; g = 0; e = 0; f = 0; arrived = 0; by = 0; ok = false; same = false; how = NOTHING }
}

#if DUPS > 0
/* Delayed duplicates: messages of any token, run once more, long after. */
inline duplicate_claim(t) {
  check_take(); v = NEXT_VERSION; grant_page(t, v, now + LEASE, incident, g); v = 0; g = 0;
  printf("MSC: a duplicate claim of %d opens a page\n", t)
}
inline duplicate_end(t) {
  v = said[t].ver; how = said[t].how; f = said[t].incident; g = said[t].grant;
  ok = FENCE(t, v); same = SAME_INCIDENT;
  if
  :: ok -> check_fence_time(); check_incident(how, f, same); end_claim(t, v, how, g, f, same);
     printf("MSC: a duplicate settle of %d lands\n", t)
  :: else
  fi;
  v = 0; g = 0; f = 0; how = NOTHING; ok = false; same = false
}
#define CLAIM_REPEATS(t) ((sent_claims & BIT(t)) && n < DUPS && lock == 0 && MAY_OPEN(t) && CLAIMABLE)
#define END_REPEATS(t) (said[t].how != NOTHING && n < DUPS && lock == 0)
proctype Network() {
  byte n, v, g, f, arrived; bool ok, same; mtype how = NOTHING;
  do
  :: atomic { CLAIM_REPEATS(1) -> n++; duplicate_claim(1) }
  :: atomic { CLAIM_REPEATS(2) -> n++; duplicate_claim(2) }
  :: atomic { END_REPEATS(1) -> n++; arrived = now; duplicate_end(1); arrived = 0 }
  :: atomic { END_REPEATS(2) -> n++; arrived = now; duplicate_end(2); arrived = 0 }
  od
}
#endif

proctype Clock() {
  do
  :: now < LATEST -> now++
  :: now > 0 -> now--
  od
}

proctype Environment() {
  byte facts, ops, prunes, forgets, fails, t;
  do
  :: atomic { facts < FACTS -> facts++; incident++; listed = true; printf("MSC: another incident\n") }
  :: atomic { facts < FACTS && listed -> listed = false }
  :: atomic { ops < OPS && lock == 0 && row.st == MANUAL -> ops++; row.st = AVAILABLE; printf("MSC: released\n") }
  :: atomic { ops < OPS && lock == 0 && row.st != ABSENT -> ops++;
       row.st = MANUAL; row.tok = 0; row.expiry = 0; row.next = 0; row.open = false; row.until = 0; row.grant = 0;
       printf("MSC: parked\n") }
  :: atomic { prunes < PRUNES && lock == 0 &&
#ifdef M_PRUNE_CLAIM        /* prune does not spare a live claim */
       row.st != ABSENT ->
#else
       (row.st == AVAILABLE || row.st == RESOLVED) ->
#endif
       prunes++; floor = MAX2(floor, row.ver);
#ifdef M_PRUNE_CLAIM
       /* Promise: who holds a target holds it until expiry. */
       assert(one_holder || !(row.open && REACH(row.until)));
#endif
       row.st = ABSENT; row.tok = 0; row.ver = 0; row.expiry = 0; row.next = 0; row.open = false; row.until = 0;
       row.grant = 0; row.end_tok = 0; row.end_ver = 0; row.end_how = NOTHING; printf("MSC: pruned\n") }
  :: atomic { forgets < FORGETS -> forgets++; pages = 0; opened = 0; printf("MSC: pages forgotten\n") }
  :: atomic { fails < FAILS && lock == 0 && timeline == 0 -> fails++;
       copy.st = row.st; copy.tok = row.tok; copy.ver = row.ver; copy.expiry = row.expiry; copy.next = row.next;
       copy.incident = row.incident; copy.end_tok = row.end_tok; copy.end_ver = row.end_ver;
       copy.end_how = row.end_how; copy.grant = row.grant; copy.until = row.until; copy.open = row.open;
       copy_pages = pages; copy_floor = floor; printf("MSC: what the standby has\n") }
     atomic { lock == 0 ->
       row.st = copy.st; row.tok = copy.tok; row.ver = copy.ver; row.expiry = copy.expiry; row.next = copy.next;
       row.incident = copy.incident; row.end_tok = copy.end_tok; row.end_ver = copy.end_ver;
       row.end_how = copy.end_how; row.grant = copy.grant; row.until = copy.until; row.open = copy.open;
       pages = copy_pages; floor = copy_floor; timeline = 1; opened = pages; printf("MSC: promoted\n") }
  od
}

init {
  byte i;
  atomic {
    row.st = ABSENT; row.end_how = NOTHING; copy.st = ABSENT; copy.end_how = NOTHING;
    for (i : 1 .. SUPS) { said[i].how = NOTHING; run Supervisor(i) }
    i = 0;
#if DUPS > 0
    run Network();
#endif
    run Clock(); run Environment()
  }
}
