/**
 * Sessions, runs and messages. Rows are many and small, so sessions and runs have a number by which rows name them, states
 * are numbers (`codes.ts`), and everything that no query looks at stands in one compact JSON text (`*-rows.ts`).
 *
 * Rows of `messages` are numbered in the order of their ids within a session, as each new id is greater than all before.
 */
export const LOG_SCHEMA = `
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  session TEXT NOT NULL,
  live INTEGER NOT NULL DEFAULT 1,
  generation INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT,
  lease_until INTEGER,
  active_run TEXT,
  paused INTEGER NOT NULL DEFAULT 0,
  waiting INTEGER NOT NULL DEFAULT 0,
  queued INTEGER NOT NULL DEFAULT 0,
  tail TEXT,
  head TEXT,
  floor TEXT,
  cancel_run TEXT,
  cancel_reason TEXT,
  takeovers INTEGER NOT NULL DEFAULT 0,
  due INTEGER,
  agent TEXT NOT NULL,
  owner TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  ttl_days INTEGER,
  expires_at INTEGER,
  run TEXT,
  run_status INTEGER,
  totals TEXT NOT NULL,
  UNIQUE (tenant, session)
);
CREATE INDEX sessions_by_activity ON sessions (tenant, updated_at, session) WHERE live = 1;
CREATE INDEX sessions_of_owner ON sessions (tenant, owner, updated_at, session) WHERE live = 1 AND owner IS NOT NULL;
CREATE INDEX sessions_due ON sessions (due) WHERE due IS NOT NULL;
CREATE INDEX sessions_expiring ON sessions (live, expires_at) WHERE expires_at IS NOT NULL;

-- Apart from the header, which is written every round.
CREATE TABLE details (
  session INTEGER PRIMARY KEY,
  body TEXT NOT NULL
);

-- What a deletion has removed so far, by tombstone.
CREATE TABLE deletions (
  session INTEGER PRIMARY KEY,
  messages INTEGER NOT NULL DEFAULT 0,
  runs INTEGER NOT NULL DEFAULT 0,
  documents INTEGER NOT NULL DEFAULT 0,
  outputs INTEGER NOT NULL DEFAULT 0,
  removed INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  status INTEGER NOT NULL,
  api_key TEXT,
  body TEXT NOT NULL,
  UNIQUE (session, id)
);
CREATE INDEX runs_queued ON runs (session, id) WHERE status = 0;
CREATE INDEX runs_active_of_key ON runs (api_key) WHERE api_key IS NOT NULL AND status < 3;

-- What a run was asked: its input until it starts, its client tools. Apart from the run, which is written every round.
CREATE TABLE requests (
  run INTEGER PRIMARY KEY,
  body TEXT NOT NULL
);

CREATE TABLE claims (
  session INTEGER NOT NULL,
  key_hash TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  run TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (session, key_hash)
) WITHOUT ROWID;

CREATE TABLE messages (
  number INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  run INTEGER NOT NULL,
  role INTEGER NOT NULL,
  agent TEXT NOT NULL,
  status INTEGER,
  generation INTEGER,
  body TEXT NOT NULL,
  UNIQUE (session, id)
);
CREATE INDEX messages_of_run ON messages (run);
CREATE INDEX messages_open ON messages (run) WHERE status < 3;

CREATE TABLE api_keys (
  hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER,
  body TEXT NOT NULL
) WITHOUT ROWID;
`
