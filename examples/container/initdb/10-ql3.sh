#!/bin/sh
# Once, when the image's entrypoint makes a new database: the extension, and a role for supervisors.
set -eu
psql -X -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
\set password `cat "$SUPERVISOR_PASSWORD_FILE"`
CREATE EXTENSION ql3;
CREATE ROLE supervisor LOGIN PASSWORD :'password';
SELECT ql3.ql3_grant('supervisor', 'runtime');
SQL
