/* Evidence, house: The README's tour, the three tutorials and the API by example print the output that they show. */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { linesOf, openClone, readPage, stepsOf } from './backend/page-steps.ts'

const missing = ['bash', 'curl', 'jq'].filter((name) => spawnSync(name, ['--version']).error !== undefined)
if (missing.length > 0) console.log(`the pages' commands are not tried: there is no ${missing.join(', no ')} here`)

const tour = readPage('README.md').split('\n## A tour')[1]?.split('\n## ')[0] ?? ''
/**
 * Each page, with its text and the number of times that its steps run. Steps that take only milliseconds run twice, to
 * test that they can be repeated.
 */
const pages: [string, string, number][] = [
  ["the README's tour", tour, 1],
  ['docs/guides/examples.md', readPage('docs/guides/examples.md'), 2],
  ...['search-your-coding-agents', 'run-an-agent-for-your-team', 'put-it-behind-your-app'].map(
    (name): [string, string, number] => [`docs/guides/${name}.md`, readPage(`docs/guides/${name}.md`), 1],
  ),
]

describe.skipIf(missing.length > 0).each(pages)('commands of %s, run $2 times,', (_, text, times) => {
  let clone: Awaited<ReturnType<typeof openClone>>
  beforeAll(async () => {
    clone = await openClone()
  })
  afterAll(() => clone.close())

  test.each(stepsOf(text))('print the shown output: $commands', async (step) => {
    for (let time = 0; time < times; time++) expect(await clone.run(step)).toEqual(linesOf(step))
  })
})
