/**
 * The full-text index. `historyMessages` has one row for each message with documents (for what its documents share),
 * `historyDocuments` the texts, and `historyWords` their tokens. `scope` holds one token for each thing that can be filtered
 * by, so that filters are part of the match. `historyVocabulary` knows the words: `historyWordParts` finds them by any three
 * letters.
 *
 * Nothing that one tenant, owner or session has stored may show in the results of another, so each has statistics and words of
 * its own. Ids of documents and of words are within the range of their tenant (`audiences.ts`): a match within the
 * range never reads what others have. `historyAudiences` has a row for each owner and each session. `historySessionWords` has the
 * words of a session, many in a row; `historyOwnerWords` those of an owner. When a session
 * goes, its words are looked up one by one: an owner and a tenant keep those that other documents of theirs have, so that the
 * cost is in proportion to the session.
 *
 * `historyMarks` has the messages, by number, of which the tables do not say what the log says (`projection.ts`). Triggers mark
 * them in the transaction that writes the message, so that none can be forgotten. A claim changes nothing that is searched. If
 * a message has more documents than one transaction takes, the mark says how far it is indexed: the id of its first document,
 * how many are stored and how many there will be. Of one that only owes its words, it says who will store them
 * (`pending-messages.ts`). A change of the message drops this, except that words are pending. Messages of deleted sessions are not
 * indexed, although they may be marked.
 */
export const HISTORY_SCHEMA = `
CREATE TABLE historyTenants (
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL UNIQUE,
  documents INTEGER NOT NULL DEFAULT 0,
  lastDocument INTEGER NOT NULL DEFAULT 0,
  lastWord INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE historyAudiences (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  owner INTEGER,
  documents INTEGER NOT NULL DEFAULT 0,
  UNIQUE (tenant, kind, name)
);
CREATE TABLE historyMessages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant INTEGER NOT NULL,
  session TEXT NOT NULL,
  message TEXT NOT NULL,
  print TEXT NOT NULL,
  owner TEXT,
  run TEXT NOT NULL,
  agent TEXT NOT NULL,
  tool TEXT,
  toolCall TEXT,
  status TEXT,
  call TEXT,
  UNIQUE (message, tenant, session)
);
CREATE INDEX historyMessagePrints ON historyMessages (print);
CREATE TABLE historyDocuments (
  id INTEGER PRIMARY KEY,
  message INTEGER NOT NULL,
  part TEXT NOT NULL,
  role TEXT NOT NULL,
  time INTEGER NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX historyDocumentsOfMessage ON historyDocuments (message);
CREATE VIRTUAL TABLE historyWords USING fts5 (
  tool, call, body, extra, scope,
  content = '', contentless_delete = 1, tokenize = "ascii tokenchars '-_./:@+#~'"
);
CREATE VIRTUAL TABLE historyWordCounts USING fts5vocab (historyWords, row);
CREATE TABLE historyVocabulary (
  id INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  word TEXT NOT NULL,
  uses INTEGER NOT NULL,
  UNIQUE (tenant, word)
);
CREATE TABLE historyWordUses (
  audience INTEGER NOT NULL,
  word INTEGER NOT NULL,
  uses INTEGER NOT NULL,
  PRIMARY KEY (audience, word)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE historyWordParts USING fts5 (
  word,
  content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
);
CREATE TABLE historyMarks (
  message INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  first INTEGER,
  stored INTEGER,
  documents INTEGER
);
CREATE INDEX historyMarksOfTenant ON historyMarks (tenant);
CREATE TRIGGER markAdded AFTER INSERT ON messages BEGIN
  INSERT INTO historyMarks (message, tenant) SELECT new.number, tenant FROM sessions WHERE number = new.session;
END;
CREATE TRIGGER markChanged AFTER UPDATE OF status, body ON messages BEGIN
  INSERT INTO historyMarks (message, tenant) SELECT new.number, tenant FROM sessions WHERE number = new.session
    ON CONFLICT (message) DO UPDATE SET first = NULL, stored = NULL, documents = NULL WHERE first IS NOT NULL;
END;
CREATE TRIGGER unmarkRemoved AFTER DELETE ON messages BEGIN
  DELETE FROM historyMarks WHERE message = old.number;
END;
`

/** Of an assistant's message: its loop had searched the history before. */
export const HISTORY_SEARCHED_SCHEMA = 'ALTER TABLE historyMessages ADD COLUMN searched INTEGER'

/** Which runs have searched: of most messages there is no entry. */
export const HISTORY_SEARCHED_RUNS_SCHEMA =
  'CREATE INDEX historySearchedRuns ON historyMessages (run, tenant) WHERE searched IS NOT NULL'

/** Of a user's message: it is the task of a team's member. */
export const HISTORY_TASKS_SCHEMA = 'ALTER TABLE historyMessages ADD COLUMN task INTEGER'

/**
 * Bytes of a page of the full-text tables, 4,050 without it. FTS5 merges so many pages at a time, in whichever transaction it is due:
 * with these the longest of a deletion held the process up for 29 ms of processor time where it had been 210 ms, in a table of
 * 50,000 documents. Searches take the same.
 */
export const HISTORY_PAGES_SCHEMA = `
INSERT INTO historyWords (historyWords, rank) VALUES ('pgsz', 500);
INSERT INTO historyWordParts (historyWordParts, rank) VALUES ('pgsz', 500);
`

/**
 * Until here, `historyWordUses` had a row for each word of each session and of each owner, with how many sessions used it. Writing
 * these took two fifths of what indexing took.
 */
export const HISTORY_WORDS_SCHEMA = `
CREATE TABLE historySessionWords (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  words TEXT NOT NULL
);
INSERT INTO historySessionWords (session, words)
  SELECT audience, group_concat(word, ' ') FROM (
    SELECT u.audience, v.word, row_number() OVER (PARTITION BY u.audience) AS place FROM historyWordUses u
    JOIN historyAudiences a ON a.id = u.audience AND a.kind = 'session' JOIN historyVocabulary v ON v.id = u.word)
  GROUP BY audience, place / 100;
CREATE INDEX historySessionWordsOfSession ON historySessionWords (session);
CREATE TABLE historyOwnerWords (
  owner INTEGER NOT NULL,
  word INTEGER NOT NULL,
  PRIMARY KEY (owner, word)
) WITHOUT ROWID;
INSERT INTO historyOwnerWords (owner, word)
  SELECT u.audience, u.word FROM historyWordUses u JOIN historyAudiences a ON a.id = u.audience AND a.kind = 'owner';
DROP TABLE historyWordUses;
ALTER TABLE historyVocabulary DROP COLUMN uses;
`

/**
 * FTS5 merges the segments of so many transactions at once, four without it: each word is written anew half as often, and
 * indexing takes a seventh less. Larger pages than before cost less, too, and merges stay as short (`history-blocks.test.ts`).
 */
export const HISTORY_MERGE_SCHEMA = `
INSERT INTO historyWords (historyWords, rank) VALUES ('automerge', 16);
INSERT INTO historyWords (historyWords, rank) VALUES ('pgsz', 1000);
INSERT INTO historyWordParts (historyWordParts, rank) VALUES ('automerge', 16);
INSERT INTO historyWordParts (historyWordParts, rank) VALUES ('pgsz', 1000);
`

/**
 * Names of messages in cursors begin with their time (`cursor.ts`): rows that are written together stand together in the index,
 * which is a fifteenth of what indexing takes.
 */
export const HISTORY_PRINTS_SCHEMA = `
DROP INDEX historyMessagePrints;
UPDATE historyMessages SET print = substr(message, 2, 5) || print;
CREATE INDEX historyMessagePrints ON historyMessages (print);
`

/**
 * A mark now keeps that words of its message's documents are pending when the message changes: `documents` is -1 then. Owners get
 * the number of documents that their sessions have: older programs counted those of a session in deletion for a hash of its owner,
 * whose row and words stayed. Words of owners that name no word or no owner are removed.
 */
export const HISTORY_PENDING_WORDS_SCHEMA = `
DROP TRIGGER markChanged;
CREATE TRIGGER markChanged AFTER UPDATE OF status, body ON messages BEGIN
  INSERT INTO historyMarks (message, tenant) SELECT new.number, tenant FROM sessions WHERE number = new.session
    ON CONFLICT (message) DO UPDATE SET first = NULL, stored = NULL, documents = CASE WHEN documents <= 0 THEN -1 END
    WHERE first IS NOT NULL;
END;
DELETE FROM historyAudiences WHERE kind = 'owner' AND id NOT IN (
  SELECT owner FROM historyAudiences WHERE owner IS NOT NULL);
UPDATE historyAudiences SET documents = counted.documents
  FROM (SELECT owner, sum(documents) AS documents FROM historyAudiences WHERE owner IS NOT NULL GROUP BY owner) AS counted
  WHERE historyAudiences.id = counted.owner;
DELETE FROM historyOwnerWords
  WHERE owner NOT IN (SELECT id FROM historyAudiences) OR word NOT IN (SELECT id FROM historyVocabulary);
`

/**
 * At sixteen segments FTS5 merges them whole, within the write that made the last: up to a sixth of a second. From eight on it merges
 * a little with each write instead, and does not get to so many; indexing and searches take as long as before.
 */
export const HISTORY_SHORT_MERGES_SCHEMA = `
INSERT INTO historyWords (historyWords, rank) VALUES ('automerge', 8);
INSERT INTO historyWords (historyWords, rank) VALUES ('crisismerge', 32);
INSERT INTO historyWordParts (historyWordParts, rank) VALUES ('automerge', 8);
INSERT INTO historyWordParts (historyWordParts, rank) VALUES ('crisismerge', 32);
`

/**
 * Cursors name documents by their numbers, sealed with a secret (`cursor.ts`). Until here they named messages by prints, whose
 * index took a fifteenth of what indexing takes.
 */
export const HISTORY_CURSORS_SCHEMA = `
CREATE TABLE historyCursorSecret (secret TEXT NOT NULL);
INSERT INTO historyCursorSecret (secret) VALUES (hex(randomblob(16)));
DROP INDEX historyMessagePrints;
ALTER TABLE historyMessages DROP COLUMN print;
`
