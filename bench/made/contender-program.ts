import type { Contender } from './contender.ts'
import { openLoop } from './loop-rounds.ts'
import { openRaw } from './raw-rounds.ts'

/**
 * This program runs one contender of `bench/loop-overhead.ts` in a separate process. It replies to each order with the
 * contender's times.
 */
const content = {
  said: 'Looking.',
  argumentsText: JSON.stringify({ query: 'q'.repeat(40) }),
  result: 'result '.repeat(293).slice(0, 2_048),
  rounds: Number(process.argv[3]),
}
const CONTENDERS: Readonly<Record<string, () => Contender | Promise<Contender>>> = {
  indexed: () => openLoop(content, {}),
  'indexed, unsynced': () => openLoop(content, { synced: false }),
  'bare, unsynced': () => openLoop(content, { indexed: false, synced: false }),
  raw: () => openRaw(content, {}),
  'raw, unsynced': () => openRaw(content, { synced: false }),
  'words, unsynced': () => openRaw(content, { words: true, synced: false }),
}

const contender = await CONTENDERS[process.argv[2] ?? '']?.()
if (contender === undefined) throw new Error(`no such contender: ${process.argv[2]}`)
process.on('message', (order) => void obey(contender, order))

async function obey({ run, later, close }: Contender, order: unknown): Promise<void> {
  if (order === 'run') process.send?.(await run())
  if (order === 'later') process.send?.([await later()])
  if (order === 'close') {
    await close()
    process.disconnect()
  }
}
