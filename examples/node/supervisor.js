#!/usr/bin/env node
// A supervisor with node-postgres: judges the lost targets of kind "job" until none can be claimed.
//
//   supervisor.js postgres://... OWNER
'use strict';
const fs = require('fs');
const { randomUUID } = require('crypto');
const { setTimeout: sleep } = require('timers/promises');
const { Client } = require('pg');

// Refused for the moment: nothing was done, the same call may be repeated.
const AGAIN = new Set(['55P03', '40001', '40P01', '57P01', '57P02', '57P03', '25006']);

// Each call is one statement in autocommit: no transaction is open while a probe looks.
class Database {
  constructor(connectionString) {
    this.connectionString = connectionString;
  }

  async once(text, values) {
    if (!this.client) {
      const client = new Client(this.connectionString);
      client.on('error', () => {}); // a connection that breaks while idle is noticed by the next call
      await client.connect();
      this.client = client;
    }
    return (await this.client.query(text, values)).rows;
  }

  // Repeats a call whose answer was lost, as it was: ql3 knows it by its token, and answers the same.
  async ask(text, values, patience = 30_000) {
    const end = Date.now() + patience;
    for (let pause = 100; ; pause = Math.min(2 * pause, 5000)) {
      try {
        return await this.once(text, values);
      } catch (error) {
        // A refusal of the server has a severity; what has none came from the way there.
        if ((error.severity && !AGAIN.has(error.code)) || Date.now() > end) throw error;
        await this.close();
      }
      await sleep(pause);
    }
  }

  async close() {
    const client = this.client;
    this.client = null;
    if (client) await client.end().catch(() => {});
  }
}

// Only the form; a real one compares start times too, since a pid is given again (docs/probes.md).
function probe(source) {
  if (!source || source.pid === null) return 'unknown';
  return fs.existsSync(`/proc/${source.pid}`) ? 'running' : 'not_running';
}

async function judge(db, owner, token, { kind, id, version, source }) {
  const fence = [kind, id, owner, token, version]; // version is a bigint: node-postgres hands it over as a string
  const verdict = probe(source);
  const [{ word }] = verdict === 'not_running'
    ? await db.ask('SELECT ql3.ql3_conclude($1, $2, $3, $4, $5, $6, $7) AS word', [...fence, verdict, source])
    : await db.ask("SELECT ql3.ql3_settle($1, $2, $3, $4, $5, 'retry', '10 s', $6) AS word", [...fence, verdict]);
  // fenced: our claim ran out, another may have the target. Nothing was changed and nothing is repeated:
  // whoever holds it now decides. stale: the facts have changed, it will be judged anew.
  console.log(`${id}: ${word}`);
}

(async ([connectionString, owner]) => {
  const db = new Database(connectionString);
  for (;;) {
    const token = randomUUID(); // made before the call, so that a lost reply can be asked for again
    const page = await db.ask("SELECT * FROM ql3.ql3_claim($1, 16, '30 s', $2, $3)", [owner, token, ['job']]);
    if (page.length === 0) break;
    for (const target of page) await judge(db, owner, token, target);
  }
  await db.close();
})(process.argv.slice(2));
