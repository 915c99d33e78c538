/**
 * The full-text index. `historyMessages` has one row for each message with documents (for what its documents share),
 * `historyDocuments` the texts, and `historyWords` their tokens. `scope` holds one token for each thing that can be filtered
 * by, so that filters are part of the match. `historyVocabulary` knows the words: `historyWordParts` finds them by any three
 * letters.
 */
export const HISTORY_SCHEMA = `
CREATE TABLE historyMessages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  session TEXT NOT NULL,
  message TEXT NOT NULL,
  owner TEXT,
  run TEXT NOT NULL,
  agent TEXT NOT NULL,
  tool TEXT,
  toolCall TEXT,
  status TEXT,
  call TEXT,
  UNIQUE (message, tenant, session)
);
CREATE TABLE historyDocuments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
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
  word TEXT NOT NULL UNIQUE
);
CREATE VIRTUAL TABLE historyWordParts USING fts5 (
  word,
  content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
);
`

/**
 * Documents that are durable with their messages and not yet in the full-text tables (`history-pending.ts`): per row the
 * messages of one commit, as JSON. Later rows replace what earlier ones, or the tables, say of the same message.
 */
export const HISTORY_PENDING_SCHEMA = `
CREATE TABLE historyPending (
  number INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  session TEXT NOT NULL,
  messages TEXT NOT NULL
);
`
