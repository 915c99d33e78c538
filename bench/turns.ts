import { DatabaseSync } from 'node:sqlite'
import { makeTool, setStage } from '../test/agent/stage.ts'
import type { Turn } from '../test/agent/stage.ts'
import { printTable, timed } from './report.ts'

/**
 * Turns a second and the room they take: 200 turns of about 5 KB (input 200 B, two parallel calls with 2 KB results, answer
 * 500 B) through the loop, history index included. Log tables and index apart, by `dbstat`.
 */
const TURNS = 200
const WORDS =
  `the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what
all were we when your can said there use an each which she do how their if will up other about out many then them these so some her
would make like him into time has look two more write go see number no way could people my than first water been call who oil its now
find long down day did get come made may part table index query latency shard bucket lambda session replay ledger invoice customer
region deploy rollback alarm metric trace parser schema migration worker queue retry timeout gateway stream token prompt budget`.split(
    /\s+/,
  )

/** Plain words, with a number or an id now and then, as tools return them; `seed` chooses which. */
const words = (length: number, seed: number): string => {
  let text = ''
  let state = seed * 7_919 + 1
  while (text.length < length) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    text += `${state % 12 === 0 ? (state >>> 4).toString(36) : (WORDS[(state >>> 8) % WORDS.length] ?? '')} `
  }
  return text.slice(0, length)
}
const INDEX = /history/i

const script = Array.from({ length: TURNS }, (_, turn): Turn[] => [
  {
    calls: [1, 2].map((index) => ({
      id: `call-${turn}-${index}`,
      name: 'work',
      arguments: `{"n":${turn * 2 + index}}`,
    })),
  },
  { text: words(500, turn) },
]).flat()
const work = makeTool('work', async (input) => ({ text: words(2_048, (input as { n: number }).n * 1_000) }))
const stage = await setStage({ script, tools: [work] })
const milliseconds = await timed(async () => {
  for (let turn = 0; turn < TURNS; turn++) await stage.settled(await stage.submit(words(200, turn * 7)))
})
const database = new DatabaseSync(`${stage.folder}/tooltrail.db`)
database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
const sizes = database.prepare('SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name').all() as {
  name: string
  bytes: number
}[]
database.close()
await stage.close()

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
