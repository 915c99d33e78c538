/* Evidence, clients: Scenarios of three foreign stores hold over HTTP; the page of compatibility has the results of its runs. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { BEGIN, END, writeCompatibility } from '../../audit/conformance/compatibility.ts'
import type { SuiteResult } from '../../audit/conformance/compatibility.ts'
import { SUITES } from '../../audit/conformance/suites.ts'

/** Suites that need no packages. The others run with `npm run conformance`; the MCP suite also in `test/mcp`. */
test.each(['persistence-sessions', 'persistence-threads'])('the suite %s passes', async (suite) => {
  const file = `audit/conformance/suites/${suite}.mjs`
  const { stdout } = await promisify(execFile)(process.execPath, [file], { maxBuffer: 1 << 26 })
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/: [1-9]\d* applied, [1-9]\d* passed, 0 failed/)
})

test('the page of compatibility has the recorded results', () => {
  const page = readFileSync('docs/reference/compatibility.md', 'utf8')
  const results = JSON.parse(readFileSync('audit/conformance/results.json', 'utf8')) as SuiteResult[]
  expect(writeCompatibility(page, SUITES, results)).toBe(page)
})

test('the page names packages, versions, what works, what is not offered and what fails', () => {
  const checks = [
    { name: 'ai 7: two turns', held: true, expected: '' },
    { name: 'ai 6: two turns', held: true, expected: 'refused' },
    { name: 'ai 6: a compact log', held: false, expected: 'no route' },
    { name: 'an image', held: false, expected: '' },
  ]
  const result = { suite: 'a', date: '2026-11-29', commit: 'abc', packages: { ai: '7.0.1' }, checks }
  const suites = [
    { name: 'a', title: 'First' },
    { name: 'b', title: 'Second' },
  ]
  const page = writeCompatibility(`# Page\n${BEGIN}\nold\n${END}\n`, suites, [result])
  expect(page).toBe(`# Page
${BEGIN}

| suite | works | not offered | fails | date | commit |
|---|---|---|---|---|---|
| First | 2 | 1 | 1 | 2026-11-29 | abc |
| Second | not run yet | | | | |

## First

| package | version |
|---|---|
| \`ai\` | 7.0.1 |

\`\`\`text
works       two turns — ai 7, ai 6
not offered a compact log (no route) — ai 6
FAILS       an image
\`\`\`

## Second

Not run yet.

${END}
`)
  expect(writeCompatibility(page, suites, [result])).toBe(page)
  expect(() => writeCompatibility('# Page\n', suites, [result])).toThrow('markers')
})
