/**
 * Schema of sessions, runs and messages. Rows are many and small. So sessions and runs have numbers for references, and
 * statuses are numbers (`codes.ts`). Fields that no query uses are one JSON text (`message-codec.ts`, `run-rows.ts`).
 *
 * Messages are numbered in the order of their ids within a session, because each new id is greater than all before.
 */
export const LOG_SCHEMA = `
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  session TEXT NOT NULL,
  live INTEGER NOT NULL DEFAULT 1,
  generation INTEGER NOT NULL DEFAULT 0,
  leaseOwner TEXT,
  leaseUntil INTEGER,
  activeRun TEXT,
  paused INTEGER NOT NULL DEFAULT 0,
  waiting INTEGER NOT NULL DEFAULT 0,
  queued INTEGER NOT NULL DEFAULT 0,
  tail TEXT,
  head TEXT,
  cancelRun TEXT,
  cancelReason TEXT,
  takeovers INTEGER NOT NULL DEFAULT 0,
  due INTEGER,
  agent TEXT NOT NULL,
  owner TEXT,
  createdAt INTEGER NOT NULL,
  updatedAt INTEGER NOT NULL,
  ttlDays INTEGER,
  expiresAt INTEGER,
  run TEXT,
  runStatus INTEGER,
  totals TEXT NOT NULL,
  UNIQUE (tenant, session)
);
CREATE INDEX sessions_by_activity ON sessions (tenant, updatedAt, session) WHERE live = 1;
CREATE INDEX sessions_of_agent ON sessions (tenant, agent, updatedAt, session) WHERE live = 1;
CREATE INDEX sessions_by_status ON sessions (tenant, runStatus, updatedAt, session) WHERE live = 1;
CREATE INDEX sessions_of_owner ON sessions (tenant, owner, updatedAt, session) WHERE live = 1 AND owner IS NOT NULL;
-- A sweep gives each tenant its share.
CREATE INDEX sessions_due_of_tenant ON sessions (tenant, due) WHERE due IS NOT NULL;
CREATE INDEX sessions_expiring ON sessions (live, expiresAt) WHERE expiresAt IS NOT NULL;

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
  apiKey TEXT,
  body TEXT NOT NULL,
  UNIQUE (session, id)
);
CREATE INDEX runs_queued ON runs (session, id) WHERE status = 0;
CREATE INDEX runs_active_of_key ON runs (apiKey) WHERE apiKey IS NOT NULL AND status < 3;

-- What a run was asked: its input until it starts, its client tools. Apart from the run, which is written every round.
CREATE TABLE requests (
  run INTEGER PRIMARY KEY,
  body NOT NULL
);

CREATE TABLE claims (
  session INTEGER NOT NULL,
  keyHash TEXT NOT NULL,
  bodyHash TEXT NOT NULL,
  run TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (session, keyHash)
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
  body NOT NULL,
  UNIQUE (session, id)
);
CREATE INDEX messages_of_run ON messages (run);

CREATE TABLE api_keys (
  hash TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  createdAt INTEGER NOT NULL,
  revokedAt INTEGER,
  body TEXT NOT NULL
) WITHOUT ROWID;

-- When the next request of a key with a cap would be due, in microseconds since 1970.
CREATE TABLE request_rates (key TEXT PRIMARY KEY, due INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`

/** The index of the queued steering runs. They are found without reading the session's whole queue. */
export const STEERING_SCHEMA = `
CREATE INDEX runs_steering ON runs (session, id) WHERE status = 0 AND body ->> 'onBusy' = 'steer';
`

/**
 * Stores the policies' decisions for a session's requests. Also stores the result of a request with an idempotency key,
 * unless that result is a run.
 */
export const CONTEXT_SCHEMA = `
CREATE TABLE contexts (
  session INTEGER PRIMARY KEY,
  body NOT NULL
);
ALTER TABLE claims ADD COLUMN result TEXT;
`

/** Stores the numbers of sources by result; `message` is the result's message. */
export const SOURCES_SCHEMA = `
CREATE TABLE sources (
  session INTEGER NOT NULL,
  number INTEGER NOT NULL,
  count INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (session, number)
) WITHOUT ROWID;
`

/** Adds `parent`: for a member's message, the delegate call that the member works for. An index finds a call's messages. */
export const TEAM_SCHEMA = `
ALTER TABLE messages ADD COLUMN parent TEXT;
CREATE INDEX messages_of_member ON messages (session, parent, id) WHERE parent IS NOT NULL;
`

/** Stores the deliveries of runs to channels, by session. `due` is null when a delivery has ended. */
export const OUTBOX_SCHEMA = `
CREATE TABLE deliveries (
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  due INTEGER,
  mark TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (tenant, due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_of_tenant ON deliveries (tenant, kind, id);
`

/** Stores the ids of received inputs. */
export const RECEIVED_SCHEMA = `
CREATE TABLE received (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE INDEX received_until ON received (until);
`

/**
 * Changes no table. From this version, long texts are compressed in another way (`packed-text.ts`), and older programs
 * must not read them.
 */
export const LONG_TEXTS_SCHEMA = ''

/** Stores names by which clients find sessions. `until` is null for a name that lasts as long as its session. */
export const NAMES_SCHEMA = `
CREATE TABLE names (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  session INTEGER NOT NULL,
  about TEXT NOT NULL,
  until INTEGER,
  PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE INDEX names_of_session ON names (session);
CREATE INDEX names_until ON names (until) WHERE until IS NOT NULL;
`

/** The index of a session's pending deliveries. They are found without reading ended ones. */
export const PENDING_SCHEMA = `
CREATE INDEX deliveries_pending ON deliveries (session, id) WHERE status = 'pending';
`

/** Stores the slots of keys' open calls. */
export const OPEN_CALLS_SCHEMA = `
CREATE TABLE open_calls (
  key TEXT NOT NULL,
  call TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (key, call)
) STRICT, WITHOUT ROWID;
`

/** Stores the time of each key's last request, in milliseconds since 1970, accurate to a day. */
export const KEY_USES_SCHEMA = `
CREATE TABLE key_uses (
  key TEXT PRIMARY KEY,
  usedAt INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`

/**
 * Stores which runs replaced earlier ones. `start` is the first replaced run. `first` and `last` are the first and the
 * last message of the replaced runs; they are null without messages. The trigger marks these messages, so that the
 * history index learns that they are superseded.
 */
export const REPLACEMENTS_SCHEMA = `
CREATE TABLE replacements (
  session INTEGER NOT NULL,
  run TEXT NOT NULL,
  start TEXT NOT NULL,
  first TEXT,
  last TEXT,
  PRIMARY KEY (session, run)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER markSuperseded AFTER INSERT ON replacements BEGIN
  INSERT INTO historyMarks (message, tenant)
    SELECT m.number, s.tenant FROM messages m JOIN sessions s ON s.number = m.session
    WHERE m.session = new.session AND m.id BETWEEN new.first AND new.last
    ON CONFLICT (message) DO UPDATE SET first = NULL, stored = NULL, documents = CASE WHEN documents <= 0 THEN -1 END
    WHERE first IS NOT NULL;
END;
`
