-- Every limit from both sides, every NULL, every wrong shape: one clear SQLSTATE, nothing changed (promise 17).
\pset format unaligned
\pset tuples_only on
\pset null (null)
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ql3;
RESET client_min_messages;
CREATE SCHEMA t_limits;
SET search_path = t_limits, ql3, public;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- A token of this file; only its digest is ever stored.
CREATE FUNCTION tok(n int) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('cb427738-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
-- The first column of what a statement answers, or its SQLSTATE.
CREATE FUNCTION code(q text) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE r text; BEGIN EXECUTE q INTO r; RETURN coalesce(r, 'ok');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
CREATE TABLE jobs (id text PRIMARY KEY, run_id text NOT NULL, status text NOT NULL,
                   lost_at timestamptz NOT NULL, memo text);
CREATE INDEX ON jobs (lost_at, id) WHERE status = 'running';
CREATE VIEW lost AS
SELECT id, run_id, status, lost_at - interval '1 h' AS created_at, lost_at, memo
FROM jobs WHERE status = 'running' AND lost_at <= statement_timestamp();
-- Lists targets, each lost a minute after the one before.
CREATE FUNCTION list(VARIADIC ids text[]) RETURNS void LANGUAGE sql AS $$
INSERT INTO jobs
SELECT i, 'run-' || left(i, 99), 'running',
       timestamptz '2026-01-01' + ((SELECT count(*) FROM jobs) + n) * interval '1 min'
FROM unnest(ids) WITH ORDINALITY AS u (i, n) $$;
CREATE VIEW control AS
SELECT id, state, owner, version, expires_at IS NOT NULL AS leased,
       next_claim_at IS NOT NULL AS waits, failure_count
FROM ql3.run_recovery_controls WHERE kind = 'limits';
-- Waits for the database's own clock to pass a short lease or next claim time.
CREATE FUNCTION pass_time(target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE until timestamptz;
BEGIN
  SELECT greatest(expires_at, next_claim_at) INTO until
  FROM ql3.run_recovery_controls WHERE kind = 'limits' AND id = target;
  IF until > clock_timestamp() + interval '10 s' THEN RAISE '% has a long time to go', target; END IF;
  WHILE until >= clock_timestamp() LOOP PERFORM pg_sleep(0.02); END LOOP;
END $$;
\set VERBOSITY sqlstate
SELECT FROM ql3_attach_source('limits', 'lost');

-- ql3_claim. Nothing is listed yet, so what is accepted answers an empty page.
SELECT code(q), q FROM (VALUES
  ($q$SELECT count(*) FROM ql3_claim(NULL)$q$),
  ($q$SELECT count(*) FROM ql3_claim('')$q$),
  ($q$SELECT count(*) FROM ql3_claim(' A')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A ')$q$),
  ($q$SELECT count(*) FROM ql3_claim('-A')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A/B')$q$),
  ($q$SELECT count(*) FROM ql3_claim(E'A\n')$q$),
  ($q$SELECT count(*) FROM ql3_claim('Ä')$q$),
  ($q$SELECT count(*) FROM ql3_claim(repeat('a', 129))$q$),
  ($q$SELECT count(*) FROM ql3_claim(repeat('a', 128))$q$),
  ($q$SELECT count(*) FROM ql3_claim('9._:-')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', NULL)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 0)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', -1)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 129)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 2147483647)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', -2147483648)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 128)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, NULL)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '0')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '-1 s')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 us')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '999999 us')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1000 ms')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '5 min')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '5 min 1 us')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 d')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '100 years')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 month')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 month -30 d 1 min')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 d -23:59:00')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '-178000000 y')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '2147483647 d')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, 'NaN')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '30')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, ' 5 s ')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, 'PT1M')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, 'P1Y')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '106751991 d')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', '')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', 'abc')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', '00000000-0000-0000-0000-000000000000')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', 'ffffffff-ffff-ffff-ffff-ffffffffffff')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', '6fa459ea-ee8a-1ca4-894e-db77e160355e')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', '6fa459ea-ee8a-3ca4-894e-db77e160355e')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', '6fa459ea-ee8a-5ca4-894e-db77e160355e')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', '6fa459ea-ee8a-8ca4-894e-db77e160355e')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', '6fa459ea-ee8a-4ca4-c94e-db77e160355e')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', '6fa459ea-ee8a-4ca4-094e-db77e160355e')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', '6fa459ea-ee8a-4ca4-894e-db77e160355e')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', '019036b8-1c5e-7d0a-b94e-db77e160355e')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, NULL)$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, '{limits}')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, '{}')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, '{NULL}')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, '{limits,NULL}')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, '{{limits}}')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, 'limits')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, '{Limits}')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, '{""}')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, '{unknown}')$q$),
  ($q$SELECT count(*) FROM ql3_claim('A', 1, '1 s', NULL, array_fill('limits'::text, '{129}'))$q$)
) AS v (q);

-- One held claim, for everything that needs a fence. Refusals leave it untouched.
SELECT FROM list('a', 'b', 'c');
SELECT id, version FROM ql3_claim('A', 3, '5 min', tok(1));
CREATE TABLE before AS SELECT * FROM ql3.run_recovery_controls WHERE kind = 'limits';

-- ql3_settle
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_settle(NULL, 'a', 'A', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', NULL, 'A', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', NULL, tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', NULL, 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), NULL, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, NULL)$q$),
  ($q$SELECT ql3_settle('', 'a', 'A', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('Limits', 'a', 'A', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('unknown', 'a', 'A', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', '', 'A', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', repeat('i', 256), 'A', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', repeat('é', 128), 'A', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', repeat('i', 255), 'A', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', '', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A B', tok(1), 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', '00000000-0000-0000-0000-000000000000', 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', '6fa459ea-ee8a-1ca4-894e-db77e160355e', 1, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 0, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), -9223372036854775808, 'manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, '')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'Manual')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'claimed')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'available')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'retry', '-1 us')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'retry', '5 min 1 us')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'retry', '1 month')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'retry', '1 month -30 d')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'retry', '2147483647 d')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'resolved', '1 s')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'resolved', '0')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'manual', '1 s')$q$)
) AS v (q);

-- ql3_renew
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_renew(NULL, 'a', 'A', tok(1), 1)$q$),
  ($q$SELECT ql3_renew('limits', NULL, 'A', tok(1), 1)$q$),
  ($q$SELECT ql3_renew('limits', 'a', NULL, tok(1), 1)$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', NULL, 1)$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), NULL)$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), 1, NULL)$q$),
  ($q$SELECT ql3_renew('Limits', 'a', 'A', tok(1), 1)$q$),
  ($q$SELECT ql3_renew('unknown', 'a', 'A', tok(1), 1)$q$),
  ($q$SELECT ql3_renew('limits', '', 'A', tok(1), 1)$q$),
  ($q$SELECT ql3_renew('limits', repeat('i', 256), 'A', tok(1), 1)$q$),
  ($q$SELECT ql3_renew('limits', 'a', repeat('a', 129), tok(1), 1)$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', '6fa459ea-ee8a-1ca4-894e-db77e160355e', 1)$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), -1)$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), 1, '0')$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), 1, '999999 us')$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), 1, '-5 min')$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), 1, '5 min 1 us')$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), 1, '1 month')$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), 1, '100 years')$q$)
) AS v (q);

-- The page forms: arrays of one dimension, one length, 1 to 128 elements, without NULL.
CREATE FUNCTION words(n int, word text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$ SELECT array_fill(word, ARRAY[n]) $$;
CREATE FUNCTION numbers(n int) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$ SELECT array_fill(7::bigint, ARRAY[n]) $$;
SELECT code(q), q FROM (VALUES
  ($q$SELECT result FROM ql3_settle_page(NULL, tok(1), '{limits}', '{a}', '{1}', '{manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', NULL, '{limits}', '{a}', '{1}', '{manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), NULL, '{a}', '{1}', '{manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits}', NULL, '{1}', '{manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits}', '{a}', NULL, '{manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits}', '{a}', '{1}', NULL)$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,NULL}', '{a,b}', '{1,1}', '{manual,manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,NULL}', '{1,1}', '{manual,manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1,NULL}', '{manual,manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1,1}', '{manual,NULL}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{}', '{}', '{}', '{}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits}', '{a,b}', '{1,1}', '{manual,manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a}', '{1,1}', '{manual,manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1}', '{manual,manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1,1}', '{manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1,1}', '{manual,manual}', '{NULL}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1,1}', '{retry,retry}', '{1 s}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1,1}', '{manual,manual}', NULL, '{n}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits}', '{a}', '{1}', '{manual}', '{}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{{limits}}', '{a}', '{1}', '{manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits}', '{{a}}', '{1}', '{manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits}', '{a}', '{{1}}', '{manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits}', '{a}', '{1}', '{{manual}}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{{limits,limits}}', '{{a,b}}', '{{1,1}}', '{{manual,manual}}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), 'limits', 'a', '1', 'manual')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), words(129, 'limits'), words(129, 'x'), numbers(129), words(129, 'manual'))$q$),
  ($q$SELECT count(*) FROM ql3_settle_page('A', tok(1), words(128, 'limits'), words(128, 'x'), numbers(128), words(128, 'manual'))$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1,1}', '{manual,done}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1,1}', '{retry,manual}', '{1 s,1 s}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1,1}', '{retry,retry}', '{1 s,6 min}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,b}', '{1,1}', '{retry,retry}', '{1 s,1 month}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits,limits}', '{a,""}', '{1,1}', '{manual,manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A B', tok(1), '{limits}', '{a}', '{1}', '{manual}')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', '6fa459ea-ee8a-1ca4-894e-db77e160355e', '{limits}', '{a}', '{1}', '{manual}')$q$)
) AS v (q);
SELECT code(q), q FROM (VALUES
  ($q$SELECT result FROM ql3_renew_page(NULL, tok(1), '{limits}', '{a}', '{1}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', NULL, '{limits}', '{a}', '{1}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), NULL, '{a}', '{1}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits}', NULL, '{1}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits}', '{a}', NULL)$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits}', '{a}', '{1}', NULL)$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{NULL,limits}', '{a,b}', '{1,1}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits,limits}', '{NULL,b}', '{1,1}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits,limits}', '{a,b}', '{NULL,1}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{}', '{}', '{}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits}', '{a,b}', '{1,1}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits,limits}', '{a}', '{1,1}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits,limits}', '{a,b}', '{1}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{{limits}}', '{{a}}', '{{1}}')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), words(129, 'limits'), words(129, 'x'), numbers(129))$q$),
  ($q$SELECT count(*) FROM ql3_renew_page('A', tok(1), words(128, 'limits'), words(128, 'x'), numbers(128))$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits}', '{a}', '{1}', '999 ms')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits}', '{a}', '{1}', '5 min 1 us')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{limits}', '{a}', '{1}', '1 month')$q$),
  ($q$SELECT result FROM ql3_renew_page('A', tok(1), '{unknown}', '{a}', '{1}')$q$)
) AS v (q);
SELECT code(q), q FROM (VALUES
  ($q$SELECT result FROM ql3_give_back(NULL, tok(1), '{limits}', '{a}', '{1}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', NULL, '{limits}', '{a}', '{1}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), NULL, '{a}', '{1}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{limits}', NULL, '{1}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{limits}', '{a}', NULL)$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{NULL}', '{a}', '{1}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{limits}', '{NULL}', '{1}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{limits}', '{a}', '{NULL}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{}', '{}', '{}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{limits}', '{a,b}', '{1,1}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{limits,limits}', '{a}', '{1,1}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{limits,limits}', '{a,b}', '{1}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{{limits}}', '{{a}}', '{{1}}')$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), words(129, 'limits'), words(129, 'x'), numbers(129))$q$),
  ($q$SELECT count(*) FROM ql3_give_back('A', tok(1), words(128, 'limits'), words(128, 'x'), numbers(128))$q$),
  ($q$SELECT result FROM ql3_give_back('A', tok(1), '{unknown}', '{a}', '{1}')$q$)
) AS v (q);
-- ql3_conclude and ql3_require_fence (their own values are in conclude)
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_conclude(NULL, 'a', 'A', tok(1), 1, 'lost')$q$),
  ($q$SELECT ql3_conclude('limits', NULL, 'A', tok(1), 1, 'lost')$q$),
  ($q$SELECT ql3_conclude('limits', 'a', NULL, tok(1), 1, 'lost')$q$),
  ($q$SELECT ql3_conclude('limits', 'a', 'A', NULL, 1, 'lost')$q$),
  ($q$SELECT ql3_conclude('limits', 'a', 'A', tok(1), NULL, 'lost')$q$),
  ($q$SELECT ql3_conclude('unknown', 'a', 'A', tok(1), 1, 'lost')$q$),
  ($q$SELECT ql3_conclude('limits', '', 'A', tok(1), 1, 'lost')$q$),
  ($q$SELECT ql3_conclude('limits', 'a', '', tok(1), 1, 'lost')$q$),
  ($q$SELECT ql3_conclude('limits', 'a', 'A', '6fa459ea-ee8a-1ca4-894e-db77e160355e', 1, 'lost')$q$),
  ($q$SELECT ql3_require_fence('unknown', 'a', 'A', tok(1), 1)$q$),
  ($q$SELECT ql3_require_fence('limits', '', 'A', tok(1), 1)$q$),
  ($q$SELECT ql3_require_fence('limits', 'a', 'A', '6fa459ea-ee8a-1ca4-894e-db77e160355e', 1)$q$)
) AS v (q);
-- ql3_observe and ql3_observe_one
SELECT code(q), q FROM (VALUES
  ($q$SELECT count(*) FROM ql3_observe(NULL)$q$),
  ($q$SELECT count(*) FROM ql3_observe(0)$q$),
  ($q$SELECT count(*) FROM ql3_observe(-1)$q$),
  ($q$SELECT count(*) FROM ql3_observe(129)$q$),
  ($q$SELECT count(*) FROM ql3_observe(1)$q$),
  ($q$SELECT count(*) FROM ql3_observe(128, NULL)$q$),
  ($q$SELECT count(*) FROM ql3_observe(1, '{}')$q$),
  ($q$SELECT count(*) FROM ql3_observe(1, '{NULL}')$q$),
  ($q$SELECT count(*) FROM ql3_observe(1, '{{limits}}')$q$),
  ($q$SELECT count(*) FROM ql3_observe(1, '{Limits}')$q$),
  ($q$SELECT count(*) FROM ql3_observe(1, '{unknown}')$q$),
  ($q$SELECT count(*) FROM ql3_observe(1, words(129, 'limits'))$q$),
  ($q$SELECT count(*) FROM ql3_observe_one(NULL, 'a')$q$),
  ($q$SELECT count(*) FROM ql3_observe_one('limits', NULL)$q$),
  ($q$SELECT count(*) FROM ql3_observe_one('limits', '')$q$),
  ($q$SELECT count(*) FROM ql3_observe_one('limits', repeat('i', 256))$q$),
  ($q$SELECT count(*) FROM ql3_observe_one('limits', repeat('i', 255))$q$),
  ($q$SELECT count(*) FROM ql3_observe_one('unknown', 'a')$q$),
  ($q$SELECT count(*) FROM ql3_observe_one('limits', 'a', '6fa459ea-ee8a-1ca4-894e-db77e160355e')$q$)
) AS v (q);
SELECT count(*) FROM (TABLE before EXCEPT SELECT * FROM ql3.run_recovery_controls WHERE kind = 'limits') AS changed;
-- Then each accepts its edge. The longest id goes all the way.
SELECT code(q), q FROM (VALUES
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), 1, '1 s')$q$),
  ($q$SELECT ql3_renew('limits', 'a', 'A', tok(1), 1, '5 min')$q$),
  ($q$SELECT ql3_settle('limits', 'a', 'A', tok(1), 1, 'retry', '5 min')$q$),
  ($q$SELECT ql3_settle('limits', 'b', 'A', tok(1), 1, 'retry', '0', '')$q$),
  ($q$SELECT result FROM ql3_settle_page('A', tok(1), '{limits}', '{c}', '{1}', '{retry}', '{5 min}', '{NULL}')$q$)
) AS v (q);
SELECT FROM list(repeat('i', 255), repeat('é', 127) || 'e');
SELECT id IN (repeat('i', 255), repeat('é', 127) || 'e', 'b') AS edge, count(*) FROM ql3_claim('A', 16, '5 min', tok(2)) GROUP BY 1;
SELECT ql3_settle('limits', repeat('i', 255), 'A', tok(2), 1, 'manual'),
       ql3_settle('limits', repeat('é', 127) || 'e', 'A', tok(2), 1, 'manual');
SELECT FROM ql3_detach_source('limits');
SET client_min_messages = warning;
DROP SCHEMA t_limits CASCADE;
