-- The supervisor's role judges, and has no right on any table.
CREATE ROLE packing_supervisor;
SELECT ql3.ql3_grant('packing_supervisor', 'runtime');
UPDATE orders SET status = 'packing', worker = 'w4', silent_at = now() - interval '1 min' WHERE id = 'queued';
SELECT gen_random_uuid() AS mine \gset
SET ROLE packing_supervisor;
\i supervisor.sql
EXECUTE claim('replica-1', :'mine', '30 s') \gset
EXECUTE requeue(:'id', 'replica-1', :'mine', :version, :'worker');
\set VERBOSITY terse
UPDATE orders SET status = 'waiting';
SELECT ql3.ql3_release('packing', 'silent', 1, 'not mine to do');
RESET ROLE;
SELECT id, status, worker FROM orders ORDER BY id;
SELECT ql3.ql3_revoke('packing_supervisor', 'runtime');
DROP ROLE packing_supervisor;
