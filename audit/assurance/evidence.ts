import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

/** A claim of a test file, from its comment `Evidence, <area>: <claim>`. */
export interface Claim {
  readonly area: string
  readonly claim: string
  readonly path: string
}

/** Areas of the page of evidence with their headings, in the page's order. */
const AREAS: ReadonlyMap<string, string> = new Map([
  ['durability', 'Durability and order'],
  ['deliveries', 'Slack, webhooks and callbacks'],
  ['imports', 'Import, export and fork'],
  ['replay', 'Replay'],
  ['api', 'API and events'],
  ['search', 'Search'],
  ['access', 'Access'],
  ['usage', 'Usage and budgets'],
  ['limits', 'Bounded time and memory'],
  ['clients', 'Clients'],
  ['page', 'The page'],
  ['cloud', 'On AWS'],
  ['house', 'The house'],
])

const HEAD = `# Evidence

Each claim has the tests that prove it. \`npm run evidence\` writes this page from comments of the tests: \`/* Evidence, <area>: <claim> */\`. A test fails if the page is out of date. [Promises](../design/promises.md) lists what must hold.

Every test runs in CI (\`.ci/run\`), and all passed when a commit was taken. Where \`WHOLE=1\` has a longer form, CI runs the short one. [Results of long runs and of runs by hand](runs.md) have a date and a commit. The path of a test names its command, which takes one path or more:

| path | command |
|---|---|
| \`….test.ts\` | \`npx vitest run PATH\` |
| \`….crash.test.ts\` | \`npm run test:crashes -- PATH\` |
| \`….browser.test.ts\` | \`npm run test:browser -- PATH\` |
| \`….engine.test.ts\` | \`npm run test:engines -- PATH\`: DynamoDB Local, OpenSearch, S3 and SQS servers on this machine, without an AWS account |
| \`test/contracts/….ts\` | \`npx vitest run test/adapters\` and \`npm run test:engines -- test/adapters\`: the same contract on each store |
| \`….sh\` | \`bash PATH\` |

Transcripts and search quality need [recorded conversations](recorded-conversations.md), which are not part of the repository. Without them, their suites are skipped and say so.
`

const COMMENTS = [/^\/\* Evidence, ([^:]+): ((?:(?!\*\/)[^])*?) \*\//gm, /^# Evidence, ([^:]+): (.*)$/gm]

/** Finds every claim of a test file. In TypeScript, the comment with a claim may have several lines. */
export const claimsIn = (path: string, text: string): Claim[] =>
  COMMENTS.flatMap((comment) => [...text.matchAll(comment)]).map(([, area = '', claim = '']) => ({
    area,
    claim: claim.replaceAll(/\s*\n \*\s*/g, ' '),
    path,
  }))

/** Builds the page of evidence from these claims, each with its tests. Throws if a claim has an unknown area. */
export function evidencePage(claims: readonly Claim[]): string {
  const unknown = claims.find(({ area }) => !AREAS.has(area))
  if (unknown !== undefined)
    throw new Error(`${unknown.path} has the area ${unknown.area}; the areas are ${[...AREAS.keys()].join(', ')}`)
  const sections = [...AREAS].map(([area, title]) => {
    const byClaim = Map.groupBy(
      claims.filter((claim) => claim.area === area),
      ({ claim }) => claim,
    )
    const rows = [...byClaim].map(
      ([claim, tests]) => `| ${claim} | ${tests.map(({ path }) => `\`${path}\``).join(', ')} |\n`,
    )
    return `\n## ${title}\n\n| claim | tests |\n|---|---|\n${rows.join('')}`
  })
  return HEAD + sections.join('')
}

const ROOT = resolve(import.meta.dirname, '../..')

/** Builds the page of evidence from the tests of the tree, in the order of their paths. */
export function readEvidence(): string {
  const paths = ['test', 'audit']
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /\.(?:ts|sh)$/.test(entry.name) && !entry.parentPath.includes('node_modules'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
  return evidencePage(paths.toSorted().flatMap((path) => claimsIn(path, readFileSync(join(ROOT, path), 'utf8'))))
}
