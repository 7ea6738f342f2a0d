CREATE EXTENSION ql3;
CREATE TABLE jobs (id text PRIMARY KEY, lost_at timestamptz NOT NULL);
CREATE INDEX ON jobs (lost_at, id);
CREATE VIEW lost_jobs AS SELECT id, id AS run_id, 'running'::text AS status, lost_at AS created_at, lost_at FROM jobs;
INSERT INTO jobs VALUES ('7f3a', '2026-01-01'), ('7f3b', '2026-01-01');
SELECT ql3.ql3_attach_source('job', 'lost_jobs');
SELECT ql3.ql3_park('job', '7f3b', 0, 'provider is away');
