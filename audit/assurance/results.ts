import type { KnownFailure } from './known-failures.ts'
import type { Part } from './parts.ts'

/** Result of one part of `npm run assurance`, as one row of the table. */
export interface Result {
  readonly part: string
  readonly outcome: string
  /** Date of the run, as YYYY-MM-DD. */
  readonly date: string
  /** The short hash of the commit, followed by `+` if the tree has uncommitted changes. */
  readonly commit: string
  readonly minutes: number
}

const HEAD = `# Results of assurance

\`npm run assurance\` writes this page (CONTRIBUTING.md, "Assurance"). Each row is the last run of its part. A \`+\` behind a commit: the tree had changes.

| part | question | last result | date | commit | minutes |
|---|---|---|---|---|---|
`
const FAILURES_HEAD = `
## Known failures

Their files are in [test/known-failures](../../test/known-failures/README.md).

| what must hold | state |
|---|---|
`
const NOT_RUN: Omit<Result, 'part'> = { outcome: 'not run yet', date: '', commit: '', minutes: 0 }

/** Replaces the rows of these results in the page. `failures` is undefined if the known failures were not tested. */
export function updatePage(
  page: string,
  parts: readonly Part[],
  results: readonly Result[],
  failures: readonly KnownFailure[] | undefined,
): string {
  const before = new Map(rowsOf(page).map((row) => [row.part, row]))
  const newest = new Map(results.map((result) => [result.part, result]))
  const rows = parts.map(({ name, question }) => {
    const result = newest.get(name) ?? before.get(name) ?? { part: name, ...NOT_RUN }
    const { outcome, date, commit, minutes } = result
    return `| ${[name, question, cell(outcome), date, commit, minutes === 0 ? '' : minutes].join(' | ')} |\n`
  })
  return HEAD + rows.join('') + FAILURES_HEAD + (failures?.map(failureRow).join('') ?? failureRowsOf(page))
}

const cell = (text: string): string => text.replaceAll('|', '/').replaceAll(/\s+/g, ' ').trim()

const failureRow = ({ name, state }: KnownFailure): string => `| ${name.replaceAll('-', ' ')} | ${state} |\n`

function rowsOf(page: string): Result[] {
  const [table = ''] = page.split(FAILURES_HEAD)
  return [...table.matchAll(/^\| ([\w-]+) \| [^|]* \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$/gm)]
    .map(([, part = '', outcome = '', date = '', commit = '', minutes = '']) => ({
      ...{ part, outcome: outcome.trim(), date: date.trim(), commit: commit.trim(), minutes: Number(minutes) },
    }))
    .filter(({ date }) => date !== '' && date !== 'date')
}

const failureRowsOf = (page: string): string => page.split(FAILURES_HEAD)[1] ?? ''
