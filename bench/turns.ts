import { DatabaseSync } from 'node:sqlite'
import { makeTool, openHarness } from '../test/agent/harness.ts'
import type { Turn } from '../test/agent/harness.ts'
import { fillerText } from './made/filler-text.ts'
import { printTable, timed } from './report.ts'

/**
 * Measures turns per second and the disk space that turns take. 200 turns of about 5 KB go through the loop, history
 * index included. A turn has an input of 200 B, two parallel calls with results of 2 KB, and a final completion of 500
 * B. Log tables and index are counted separately, with `dbstat`.
 */
const TURNS = 200
const INDEX = /history/i

const script = Array.from({ length: TURNS }, (_, turn): Turn[] => [
  {
    calls: [1, 2].map((index) => ({
      id: `call-${turn}-${index}`,
      name: 'work',
      arguments: `{"n":${turn * 2 + index}}`,
    })),
  },
  { text: fillerText(500, turn) },
]).flat()
const work = makeTool('work', async (input) => ({ text: fillerText(2_048, (input as { n: number }).n * 1_000) }))
const harness = await openHarness({ script, tools: [work] })
const milliseconds = await timed(async () => {
  for (let turn = 0; turn < TURNS; turn++) await harness.settled(await harness.submit(fillerText(200, turn * 7)))
  // Indexes the pending documents.
  await harness.ports.index.search({ scope: { tenant: 'default' }, text: 'anything', filters: {}, limit: 1 })
})
const database = new DatabaseSync(`${harness.folder}/tooltrail.db`)
database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
const sizes = database.prepare('SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name').all() as {
  name: string
  bytes: number
}[]
database.close()
await harness.close()

const sum = (isIndex: boolean): number =>
  sizes.filter(({ name }) => INDEX.test(name) === isIndex).reduce((total, { bytes }) => total + bytes, 0)
const contents = TURNS * (200 + 2 * 2_048 + 500)
printTable(
  `${TURNS} turns of about 5 KB on SQLite`,
  ['', 'value', 'against the contents alone'],
  [
    ['turns a second', TURNS / (milliseconds / 1_000), ''],
    ['contents, bytes', contents, '1.00 x'],
    ['log tables, bytes', sum(false), `${(sum(false) / contents).toFixed(2)} x (aim: at most 1,600,000 bytes)`],
    ['history index, bytes', sum(true), `${(sum(true) / contents).toFixed(2)} x`],
  ],
)
