/* Pages: several targets, several claimers at once, one token sent twice while its first claim is not yet committed.
 *
 * A claim takes row after row, each with the row's lock, never waiting for one, up to its page; then it commits or is
 * rolled back. Execution 2 is a duplicate of execution 1's message (the same token) on another connection.
 */
#define TARGETS 4
#define PAGE 2

byte held[TARGETS];         /* token that holds the target; 0 = free */
byte lock[TARGETS];         /* execution that has the row locked */
byte token_lock;            /* bit mask: tokens whose claim is in progress */
byte opened;                /* bit mask: tokens that have opened a page */
byte handed[3];             /* ghost: targets handed out, by token */
byte pages[3];              /* ghost: pages opened, by token */
#define BIT(n) (1 << (n))

#ifdef ALONE
bit ALONE;
#else
bit disjoint, page_size, one_page;
#endif

#ifdef M_NO_TOKEN_LOCK      /* a repeat does not see that the first is still in progress */
#define ENTER(t) true
#else
#define ENTER(t) (!(token_lock & BIT(t)))
#endif
#ifdef M_NO_SKIP            /* the row's lock is not taken: two claims may choose the same target */
#define FREE(i) (held[i] == 0)
#else
#define FREE(i) (held[i] == 0 && lock[i] == 0)
#endif
#ifdef M_ONE_MORE           /* the page's end is tested after the row was taken */
#define ROOM (n <= PAGE)
#else
#define ROOM (n < PAGE)
#endif

proctype Claim(byte me; byte t) {
  byte i, n; byte took;
  atomic { if :: ENTER(t) -> token_lock = token_lock | BIT(t) :: else -> goto over /* 55P03 */ fi }
  if :: opened & BIT(t) -> goto leave /* the repeat: what is held, nothing new */ :: else fi;
  do
  :: i < TARGETS && ROOM ->
     atomic { if :: FREE(i) -> lock[i] = me; took = took | BIT(i); n++ :: else fi; i++ }
  :: !(i < TARGETS && ROOM) -> break
  od;
  if
  :: atomic {
       /* Promise: a page never exceeds what was asked. */
       assert(page_size || n <= PAGE);
       /* Promise: a token opens one page. */
       if :: n > 0 -> pages[t]++; opened = opened | BIT(t) :: else fi;
       assert(one_page || pages[t] <= 1);
       i = 0;
       do
       :: i < TARGETS ->
          if
          :: took & BIT(i) ->
             /* Promise: pages of concurrent claimers are disjoint. */
             assert(disjoint || held[i] == 0);
             held[i] = t; lock[i] = 0; printf("MSC: execution %d takes target %d\n", me, i)
          :: else
          fi; i++
       :: else -> break
       od }
  :: atomic { i = 0; do :: i < TARGETS -> if :: lock[i] == me -> lock[i] = 0 :: else fi; i++ :: else -> break od }
  fi;
leave:
  atomic { token_lock = token_lock & ~BIT(t) }
over: skip
}

init { atomic { run Claim(1, 1); run Claim(2, 1); run Claim(3, 2) } }
