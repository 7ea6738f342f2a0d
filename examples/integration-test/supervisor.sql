-- The statements of the project's supervisor, as its program sends them. Tests and program read this one file.
PREPARE claim(text, uuid, interval) AS
SELECT id, version, source->>'worker' AS worker, expires_at
FROM ql3.ql3_claim($1, 1, $3, $2, '{packing}');

PREPARE requeue(text, text, uuid, bigint, text) AS
SELECT ql3.ql3_conclude('packing', $1, $2, $3, $4, 'not_running', jsonb_build_object('worker', $5));

PREPARE look_again(text, text, uuid, bigint) AS
SELECT ql3.ql3_settle('packing', $1, $2, $3, $4, 'retry', '30 s', 'running');
