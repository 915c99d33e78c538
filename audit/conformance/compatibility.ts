import type { Suite } from './suites.ts'

/** One check of a suite. `expected`: why it may fail; empty if it must hold. */
export interface Check {
  readonly name: string
  readonly held: boolean
  readonly expected: string
}

/** The last run of a suite. */
export interface SuiteResult {
  readonly suite: string
  /** Date of the run, as YYYY-MM-DD. */
  readonly date: string
  /** The short hash of the commit, followed by `+` if the tree had changes. */
  readonly commit: string
  /** Versions of the packages that were used, by name. */
  readonly packages: { readonly [name: string]: string }
  readonly checks: readonly Check[]
}

export const BEGIN = '<!-- begin: written by npm run conformance -->'
export const END = '<!-- end -->'

/** Writes the results between the markers of the page. */
export function writeCompatibility(page: string, suites: readonly Suite[], results: readonly SuiteResult[]): string {
  const [head, rest] = page.split(BEGIN)
  const tail = rest?.split(END)[1]
  if (head === undefined || tail === undefined) throw new Error(`the page needs the markers ${BEGIN} and ${END}`)
  const bySuite = new Map(results.map((result) => [result.suite, result]))
  const sections = suites.map(({ name, title }) => sectionOf(title, bySuite.get(name)))
  return `${head}${BEGIN}\n\n${summaryOf(suites, bySuite)}\n${sections.join('\n')}\n${END}${tail}`
}

function summaryOf(suites: readonly Suite[], results: ReadonlyMap<string, SuiteResult>): string {
  const rows = suites.map(({ name, title }) => {
    const result = results.get(name)
    if (result === undefined) return `| ${title} | not run yet | | | | |\n`
    const { passed, failed, expected } = countsOf(result)
    return `| ${title} | ${passed} | ${expected} | ${failed} | ${result.date} | ${result.commit} |\n`
  })
  const head = '| suite | works | not offered | fails | date | commit |\n|---|---|---|---|---|---|\n'
  return head + rows.join('')
}

const countsOf = ({ checks }: SuiteResult) => ({
  passed: checks.filter(({ held }) => held).length,
  failed: checks.filter(({ held, expected }) => !held && expected === '').length,
  expected: checks.filter(({ held, expected }) => !held && expected !== '').length,
})

function sectionOf(title: string, result: SuiteResult | undefined): string {
  if (result === undefined) return `## ${title}\n\nNot run yet.\n`
  const packages = Object.entries(result.packages).map(([name, version]) => `| \`${name}\` | ${version} |\n`)
  const table = packages.length === 0 ? '' : `| package | version |\n|---|---|\n${packages.join('')}\n`
  return `## ${title}\n\n${table}\`\`\`text\n${linesOf(result.checks).join('\n')}\n\`\`\`\n`
}

/** One line for each check. A check that several clients share has one line with their names. */
function linesOf(checks: readonly Check[]): string[] {
  const groups = Map.groupBy(checks.map(readCheck), ({ state, text }) => `${state} ${text}`)
  return [...groups].map(([line, all]) => {
    const clients = [...new Set(all.map(({ client }) => client))].filter((client) => client !== '')
    return clients.length === 0 ? line : `${line} — ${clients.join(', ')}`
  })
}

/** Separates the client from the check in a name such as `ai 7: two turns`. */
function readCheck({ name, held, expected }: Check) {
  const [, client = '', text = name] = /^([^:]{1,60}): (.+)$/.exec(name) ?? []
  const state = held ? 'works      ' : expected === '' ? 'FAILS      ' : 'not offered'
  return { client, text: held || expected === '' ? text : `${text} (${expected})`, state }
}
