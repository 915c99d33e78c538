const SORTS = ['lastMessageAt', 'updatedAt', 'createdAt'] as const
const LEADING = ['owner', 'agent', 'runStatus', 'folder', 'source'] as const

/** A column by which lists are sorted. */
export type SortColumn = (typeof SORTS)[number]
/** A column whose value may select a list. A page with only this condition is read from an index. */
export type LeadingColumn = (typeof LEADING)[number]

/**
 * Returns the name of the index of a tenant's sessions that is ordered by a column. With `leading`, the index selects
 * the sessions with one value of the column `leading`.
 */
export const indexOf = (sort: SortColumn, leading?: LeadingColumn): string =>
  `sessions_by_${sort}${leading === undefined ? '' : `_of_${leading}`}`

/** Index of sessions without messages, ordered by creation. */
export const INDEX_WITHOUT_MESSAGES = 'sessions_without_messages'

/** Rows with equal times are ordered by number. */
const INDEXES = SORTS.flatMap((sort) =>
  [undefined, ...LEADING].map((leading) => {
    const columns = ['tenant', leading, sort].filter((name) => name !== undefined)
    const nullable = [leading, sort === 'lastMessageAt' ? sort : undefined].filter((name) => name !== undefined)
    return `CREATE INDEX ${indexOf(sort, leading)}
  ON sessions (${columns.join(', ')}) WHERE ${['live = 1', ...nullable.map((name) => `${name} IS NOT NULL`)].join(' AND ')};`
  }),
)

/**
 * Adds the columns that lists of sessions show and sort by. `messageCount` is null for a session of an earlier version,
 * until its messages are counted (`session-outline.ts`). Until then, the times of its first and last message are the
 * times of its creation and its last activity. `folder` and `source` come from the metadata. An opening is the
 * beginning of the first input.
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
