\echo Use "ALTER EXTENSION ql3 UPDATE" to load this file. \quit

-- Of no release: the next version as the tests know it, to try what a release will do. A returned type has one
-- column more, which leaves the function, its grants and the views on it as they are.
SET LOCAL search_path = pg_catalog, pg_temp;

ALTER TYPE ql3.readiness ADD ATTRIBUTE since text;
COMMENT ON TYPE ql3.readiness IS 'a row of ql3_ready; since: the version that brought the check';
