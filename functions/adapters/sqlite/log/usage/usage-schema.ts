import { TOKEN_COUNTS } from '../../../../domain/usage/usage.ts'

/** Counters of a usage, as columns. */
export const USAGE_COLUMNS = ['completions', ...TOKEN_COUNTS] as const

const COUNTS = USAGE_COLUMNS.map((name) => `  ${name} INTEGER`).join(',\n')

/**
 * Stores the usage of completions as daily sums for each session, tenant and API key. The sums outlive their session.
 */
export const USAGE_SCHEMA = `
-- The owner is empty for a session without one.
CREATE TABLE usage_of_sessions (
  tenant TEXT NOT NULL,
  day TEXT NOT NULL,
  owner TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  model TEXT NOT NULL,
${COUNTS},
  PRIMARY KEY (tenant, day, owner, session, agent, model)
) WITHOUT ROWID;

CREATE TABLE usage_of_tenants (
  tenant TEXT NOT NULL,
  day TEXT NOT NULL,
  agent TEXT NOT NULL,
  model TEXT NOT NULL,
${COUNTS},
  PRIMARY KEY (tenant, day, agent, model)
) WITHOUT ROWID;

CREATE TABLE usage_of_keys (
  apiKey TEXT NOT NULL,
  day TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (apiKey, day)
) WITHOUT ROWID;
`
