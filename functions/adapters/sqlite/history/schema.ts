/**
 * Schema of the full-text index. `historyMessages` has one row per indexed message, with the fields that its documents
 * share. `historyDocuments` has the texts, and `historyWords` their tokens. `scope` has one token for each possible
 * filter, so that filters are part of the match. `historyVocabulary` has the words, and `historyWordParts` finds them
 * by any three letters.
 *
 * Content of one tenant, owner or session must not affect the results of another, so each has its own statistics and
 * words. Ids of documents and words are in the range of their tenant (`audiences.ts`), so a match within the range
 * never reads other tenants' data. `historyAudiences` has a row for each owner and each session. `historySessionWords`
 * has the words of a session, many per row; `historyOwnerWords` has those of an owner.
 * When a session is deleted, its words are looked up one by one. An owner and a tenant keep the words that occur in
 * their other documents. So the cost of a deletion is proportional to the size of the session.
 *
 * `historyMarks` has the numbers of messages whose index entries are outdated (`projection.ts`). Triggers add the marks
 * in the transaction that writes the message, so that no message is missed. A claim of a call adds no mark, because it
 * changes nothing that is indexed. If a message has more documents than fit one transaction, its mark records the
 * progress. This is the id of the first document, the number of stored documents, and their final number. If only the
 * words of a message are pending, its mark names the merger that will store them (`pending-messages.ts`). A change of
 * the message clears the progress and the merger, but still records that words are pending. Messages of deleted
 * sessions are not indexed, although they may be marked.
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

/** For an assistant's message: whether its loop had searched the history before. */
export const HISTORY_SEARCHED_SCHEMA = 'ALTER TABLE historyMessages ADD COLUMN searched INTEGER'

/** Index of the runs that have searched. Most messages have no entry. */
export const HISTORY_SEARCHED_RUNS_SCHEMA =
  'CREATE INDEX historySearchedRuns ON historyMessages (run, tenant) WHERE searched IS NOT NULL'

/** For a user's message: whether it is the task of a team member. */
export const HISTORY_TASKS_SCHEMA = 'ALTER TABLE historyMessages ADD COLUMN task INTEGER'

/**
 * Page size of the full-text tables in bytes; the default is 4,050. When a merge is due, FTS5 merges a fixed number of
 * pages within one transaction. With smaller pages, the longest merge of a deletion took 29 ms of processor time
 * instead of 210 ms, in a table of 50,000 documents. The time of searches is unchanged.
 */
export const HISTORY_PAGES_SCHEMA = `
INSERT INTO historyWords (historyWords, rank) VALUES ('pgsz', 500);
INSERT INTO historyWordParts (historyWordParts, rank) VALUES ('pgsz', 500);
`

/**
 * Replaces `historyWordUses`. That table had a row for each word of each session and owner, with the number of sessions
 * that used the word. Writing these rows took two fifths of the time of indexing.
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
 * Number of segments that FTS5 merges at once; the default is four. With more, each word is rewritten half as often,
 * and indexing takes a seventh less time. Larger pages than before also reduce the cost, and merges remain short
 * (`history-blocks.test.ts`).
 */
export const HISTORY_MERGE_SCHEMA = `
INSERT INTO historyWords (historyWords, rank) VALUES ('automerge', 16);
INSERT INTO historyWords (historyWords, rank) VALUES ('pgsz', 1000);
INSERT INTO historyWordParts (historyWordParts, rank) VALUES ('automerge', 16);
INSERT INTO historyWordParts (historyWordParts, rank) VALUES ('pgsz', 1000);
`

/**
 * The name of a message in a cursor now begins with the message's time (`cursor.ts`). Rows that are written together
 * are then adjacent in the index, which saves a fifteenth of the time of indexing.
 */
export const HISTORY_PRINTS_SCHEMA = `
DROP INDEX historyMessagePrints;
UPDATE historyMessages SET print = substr(message, 2, 5) || print;
CREATE INDEX historyMessagePrints ON historyMessages (print);
`

/**
 * If a message changes while words of its documents are pending, its mark records the change: `documents` is -1. The
 * document count of each owner becomes the sum over the owner's sessions. While a session was being deleted, older
 * programs counted its documents for a hash of its owner instead of the owner. They never removed the hash's row and
 * words. This migration removes each owner's row to which no session refers. It also removes each row of
 * `historyOwnerWords` whose owner or word no longer exists.
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
 * With sixteen segments, FTS5 merged all of them completely, within the write that created the last one. This took up
 * to a sixth of a second. From eight segments on, it now merges a little with each write, so that complete merges are
 * not needed. Indexing and searches take as long as before.
 */
export const HISTORY_SHORT_MERGES_SCHEMA = `
INSERT INTO historyWords (historyWords, rank) VALUES ('automerge', 8);
INSERT INTO historyWords (historyWords, rank) VALUES ('crisismerge', 32);
INSERT INTO historyWordParts (historyWordParts, rank) VALUES ('automerge', 8);
INSERT INTO historyWordParts (historyWordParts, rank) VALUES ('crisismerge', 32);
`

/**
 * Cursors now name documents by their numbers, and are sealed with a secret (`cursor.ts`). Before, they named messages
 * by hashes. The index of these hashes took a fifteenth of the time of indexing.
 */
export const HISTORY_CURSORS_SCHEMA = `
CREATE TABLE historyCursorSecret (secret TEXT NOT NULL);
INSERT INTO historyCursorSecret (secret) VALUES (hex(randomblob(16)));
DROP INDEX historyMessagePrints;
ALTER TABLE historyMessages DROP COLUMN print;
`

/**
 * The number of the last message that was indexed again for a new version of the tokenizer. The table has no row if all
 * messages were indexed again (`reindex.ts`). A later version that changes tokens adds a migration with the same
 * insert.
 */
export const HISTORY_REINDEX_SCHEMA = `
CREATE TABLE historyReindex (done INTEGER NOT NULL);
INSERT INTO historyReindex (done) SELECT 0 WHERE EXISTS (SELECT 1 FROM historyMessages);
`

/**
 * Index of a session's messages in the order of its log. A search reads the entries beside its best hits.
 */
export const HISTORY_NEIGHBOURS_SCHEMA =
  'CREATE INDEX historyMessagesOfSession ON historyMessages (tenant, session, message)'
