-- What the supervisor's statements do to an order. Tokens and versions are never printed.
\i supervisor.sql
CREATE VIEW stand AS SELECT id, status, worker FROM orders ORDER BY id;
SELECT gen_random_uuid() AS mine, gen_random_uuid() AS theirs \gset

-- A worker that is gone: its order is packed anew.
EXECUTE claim('replica-1', :'mine', '30 s') \gset
SELECT :'id' AS id, :'worker' AS worker;
EXECUTE requeue(:'id', 'replica-1', :'mine', :version, :'worker');
TABLE stand;
-- The reply was lost, so the call is repeated: the same word, and nothing is done twice.
EXECUTE requeue(:'id', 'replica-1', :'mine', :version, :'worker');
SELECT count(*) FROM ql3.history WHERE id = 'silent' AND result = 'concluded';

-- A worker that speaks while it is judged keeps its order.
UPDATE orders SET status = 'packing', worker = 'w3', silent_at = now() - interval '1 min' WHERE id = 'silent';
SELECT gen_random_uuid() AS mine \gset
EXECUTE claim('replica-1', :'mine', '30 s') \gset
UPDATE orders SET silent_at = now() + interval '1 h' WHERE id = 'silent';
EXECUTE requeue(:'id', 'replica-1', :'mine', :version, :'worker');
TABLE stand;

-- A replica that was too slow: another has judged meanwhile, and its late word changes nothing.
UPDATE orders SET silent_at = now() - interval '1 min' WHERE id = 'silent';
SELECT gen_random_uuid() AS mine \gset
EXECUTE claim('replica-1', :'mine', '1 s') \gset
SELECT :version AS slow, pg_sleep_until(:'expires_at') \gset
EXECUTE claim('replica-2', :'theirs', '30 s') \gset
EXECUTE look_again(:'id', 'replica-2', :'theirs', :version);
EXECUTE requeue(:'id', 'replica-1', :'mine', :slow, :'worker');
TABLE stand;
