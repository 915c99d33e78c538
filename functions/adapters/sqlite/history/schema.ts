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

/** What the version before kept of messages whose documents were not yet in the full-text tables. */
export const HISTORY_PENDING_SCHEMA = `
CREATE TABLE historyPending (
  number INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  session TEXT NOT NULL,
  messages TEXT NOT NULL
);
`

/**
 * Messages, by number, of which the full-text tables do not say what the log says (`history-projection.ts`). Triggers mark them
 * in the transaction that writes the message, so that none can be forgotten. A claim changes nothing that is searched.
 *
 * Of a message that has more documents than one transaction takes, the mark says how far it is indexed: the id of its first
 * document, how many are stored and how many there will be. Nothing once the message has changed. The sequence of the ids has
 * its row from the start, so that they can be reserved.
 */
export const HISTORY_MARKS_SCHEMA = `
CREATE TABLE historyMarks (
  message INTEGER PRIMARY KEY,
  first INTEGER,
  stored INTEGER,
  documents INTEGER
);
INSERT OR IGNORE INTO historyMarks (message)
  SELECT m.number FROM historyPending p JOIN json_each(p.messages) w JOIN sessions s USING (tenant, session)
  JOIN messages m ON m.session = s.number AND m.id = w.value ->> 'messageId';
DROP TABLE historyPending;
CREATE TRIGGER markAdded AFTER INSERT ON messages BEGIN
  INSERT INTO historyMarks (message) VALUES (new.number);
END;
CREATE TRIGGER markChanged AFTER UPDATE OF status, body ON messages BEGIN
  INSERT INTO historyMarks (message) VALUES (new.number)
    ON CONFLICT (message) DO UPDATE SET first = NULL, stored = NULL, documents = NULL WHERE first IS NOT NULL;
END;
CREATE TRIGGER unmarkRemoved AFTER DELETE ON messages BEGIN
  DELETE FROM historyMarks WHERE message = old.number;
END;
INSERT INTO sqlite_sequence (name, seq) SELECT 'historyDocuments', 0
  WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'historyDocuments');
`
