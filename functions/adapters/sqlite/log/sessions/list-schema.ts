const SORTS = ['lastMessageAt', 'updatedAt', 'createdAt'] as const
const LEADING = ['owner', 'agent', 'runStatus', 'folder', 'source'] as const

/** A column by which lists are sorted. */
export type SortColumn = (typeof SORTS)[number]
/** A column of which one value may lead a list: its page is then read from an index, and nothing else. */
export type LeadingColumn = (typeof LEADING)[number]

/** The index that has the sessions of a tenant, or those of one value, in the order of a column. */
export const indexOf = (sort: SortColumn, leading?: LeadingColumn): string =>
  `sessions_by_${sort}${leading === undefined ? '' : `_of_${leading}`}`

/** The index that has sessions without messages in the order of their creation. */
export const INDEX_WITHOUT_MESSAGES = 'sessions_without_messages'

/** Rows of the same time stand in the order of their numbers. */
const INDEXES = SORTS.flatMap((sort) =>
  [undefined, ...LEADING].map((leading) => {
    const columns = ['tenant', leading, sort].filter((name) => name !== undefined)
    const nullable = [leading, sort === 'lastMessageAt' ? sort : undefined].filter((name) => name !== undefined)
    return `CREATE INDEX ${indexOf(sort, leading)}
  ON sessions (${columns.join(', ')}) WHERE ${['live = 1', ...nullable.map((name) => `${name} IS NOT NULL`)].join(' AND ')};`
  }),
)

/**
 * What lists of sessions show and sort by. `messageCount` is null for a session that an earlier version stored: until it is
 * counted (`session-outline.ts`), its first and last message have the times of the session itself. `folder` and `source` are
 * those of the metadata. An opening is the beginning of the first input.
 */
export const LISTS_SCHEMA = `
ALTER TABLE sessions ADD COLUMN titleSource INTEGER;
ALTER TABLE sessions ADD COLUMN messageCount INTEGER;
ALTER TABLE sessions ADD COLUMN firstMessageAt INTEGER;
ALTER TABLE sessions ADD COLUMN lastMessageAt INTEGER;
ALTER TABLE sessions ADD COLUMN folder TEXT;
ALTER TABLE sessions ADD COLUMN source TEXT;
UPDATE sessions SET firstMessageAt = createdAt, lastMessageAt = updatedAt WHERE live = 1 AND head IS NOT NULL;
CREATE TABLE openings (
  session INTEGER PRIMARY KEY,
  text TEXT NOT NULL
);
DROP INDEX sessions_by_activity;
DROP INDEX sessions_of_agent;
DROP INDEX sessions_by_status;
DROP INDEX sessions_of_owner;
${INDEXES.join('\n')}
CREATE INDEX ${INDEX_WITHOUT_MESSAGES} ON sessions (tenant, createdAt)
  WHERE live = 1 AND lastMessageAt IS NULL;
CREATE INDEX sessions_uncounted ON sessions (number) WHERE live = 1 AND messageCount IS NULL;
`
