-- ql3 installs, the schema attaches its view, and the view lists what it should.
CREATE EXTENSION ql3;
\i schema.sql
INSERT INTO orders (id, status, worker, silent_at) VALUES
  ('silent', 'packing', 'w1', now() - interval '1 min'),
  ('at-work', 'packing', 'w2', now() + interval '1 h'),
  ('queued', 'waiting', NULL, 'infinity');
SELECT kind, id, run_id, claimable, source FROM ql3.ql3_observe();
-- Claims cost the page and not the backlog: an index leads with lost_at, or attaching would have been refused.
CREATE VIEW by_age AS SELECT id, run_id, status, created_at, now() - created_at AS age, lost_at + interval '0 s' AS lost_at FROM lost_orders;
\set VERBOSITY terse
SELECT ql3.ql3_attach_source('by_age', 'by_age');
