#!/usr/bin/env node
// A dispatch with node-postgres: posts to URL at most once for this item of this request.
//
//   dispatch.js postgres://... REQUEST ITEM URL        exit codes as those of `ql3 dispatch`
'use strict';
const { randomUUID } = require('crypto');
const { setTimeout: sleep } = require('timers/promises');
const { Client } = require('pg');

const EXITS = { succeeded: 0, failed: 10, foreign: 11, concluded: 12, identity_conflict: 13, halted: 14,
  unknown: 15, not_sent: 16, released: 16 };
const AGAIN = new Set(['55P03', '40001', '57P01', '57P02', '57P03', '25006']); // moved, or refused for the moment

// One statement on a connection of its own, which is given up with whatever may still come over it.
async function once(connectionString, text, values) {
  const client = new Client(connectionString);
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(text, values)).rows[0];
  } finally {
    client.end().catch(() => {});
  }
}

// Repeats a call whose answer was lost, as it was: ql3 knows it by its token, and answers the same.
async function ask(connectionString, text, values, patience = Infinity) {
  for (const end = Date.now() + patience; ;) {
    try {
      return await once(connectionString, text, values);
    } catch (error) {
      // A refusal of the server has a severity; what has none came from the way there.
      if ((error.severity && !AGAIN.has(error.code)) || Date.now() > end) throw error;
    }
    await sleep(500);
  }
}

async function post(url, request, item) {
  try {
    const body = JSON.stringify({ request, item });
    const answer = await fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(60_000) });
    return [answer.ok ? 'succeeded' : 'failed', `HTTP ${answer.status}`];
  } catch (error) {
    return ['unknown', String(error.cause || error)]; // it may have arrived
  }
}

async function dispatch(db, request, item, url) {
  const [what, writer, token, permit] = [{ url }, `pid-${process.pid}`, randomUUID(), randomUUID()];
  const { verdict, detail } = await ask(db,
    "SELECT verdict, detail FROM ql3.ql3_dispatch_claim($1, $2, 'restart', $3, $4, $5)",
    [request, item, what, writer, token], 30_000);
  if (verdict !== 'recorded') return [verdict, detail]; // another's, done, or halted: in no case a call
  let [granted, outcome, why] = [false, 'not_sent', 'no permission'];
  const asked = performance.now();
  try {
    ({ granted } = await once(db, 'SELECT ql3.ql3_dispatch_permit($1, $2, $3, $4, $5) AS granted',
      [request, item, writer, token, permit]));
  } catch (error) {
    why = String(error); // lost or refused: no answer, no call, and never asked again
  }
  // With the call's own minute, less than half of observe_after.
  if (granted && performance.now() - asked < 60_000) [outcome, why] = await post(url, request, item);
  const { stored } = await ask(db, 'SELECT ql3.ql3_dispatch_settle($1, $2, $3, $4, $5, $6, $7) AS stored',
    [request, item, writer, token, outcome, why, permit]);
  if (granted && (stored === 'absent' || stored === 'foreign')) { // a failover has lost our row
    await ask(db, "SELECT ql3.ql3_dispatch_reassert($1, $2, 'restart', $3, $4, $5, $6)",
      [request, item, what, writer, token, outcome]);
  }
  return [outcome, why];
}

dispatch(...process.argv.slice(2)).then(([outcome, why]) => {
  console.log(outcome, why || '');
  process.exitCode = EXITS[outcome];
});
