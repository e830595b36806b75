#!/usr/bin/env bash
# sqlite3: a row by index, a range, a scan.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
need sqlite3

local_files
sqlite3 "$T/local/d.db" "CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, v BLOB);
	WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 30000)
	INSERT INTO t SELECT i, printf('key%08d', i * 7919 % 30011), randomblob(900) FROM c; CREATE INDEX tk ON t(k);"
show_files
program 'a row by index' "sqlite3 -readonly d.db \"SELECT id, k, hex(substr(v, 1, 8)) FROM t WHERE k = 'key00012345'\"" d.db
program 'rows by id' "sqlite3 -readonly d.db 'SELECT id, k, length(v) FROM t WHERE id BETWEEN 20000 AND 20010'" d.db
program 'schema' "sqlite3 -readonly d.db .schema" d.db
program 'scan' "sqlite3 -readonly d.db 'SELECT count(*), sum(length(v)), max(k) FROM t'" d.db
program 'integrity' "sqlite3 -readonly d.db 'PRAGMA integrity_check'" d.db
done_testing
