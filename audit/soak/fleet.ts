import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../test/e2e/backend/client.ts'
import type { RunningProgram } from '../../test/e2e/backend/program.ts'

/** Programs on one backend that are killed at random and started again. */
export interface Fleet {
  /** A program that is said to run; it may be dead by the time it is asked. */
  any(): Client
  /** How often programs were ended, by how it was done. */
  readonly endings: ReadonlyMap<string, number>
  /** Ends no more programs; resolves when all run. */
  calm(): Promise<void>
  close(): Promise<void>
}

interface Settings {
  readonly size: number
  readonly start: () => Promise<RunningProgram>
  readonly random: () => number
  /** Milliseconds between two endings: at least, and at most. */
  readonly gapMs: readonly [number, number]
}

/**
 * Starts programs and ends them at random: mostly one is killed, sometimes all are. Sometimes one is requested to stop
 * instead.
 */
export async function startFleet({ size, start, random, gapMs: [least, most] }: Settings): Promise<Fleet> {
  const programs = await Promise.all(Array.from({ length: size }, start))
  const endings = new Map<string, number>()
  const calming = new AbortController()

  async function replace(place: number, how: 'SIGKILL' | 'SIGTERM', name: string): Promise<void> {
    endings.set(name, (endings.get(name) ?? 0) + 1)
    await programs[place]?.kill(how)
    programs[place] = await start()
  }

  async function endOne(): Promise<void> {
    const chance = random()
    const place = Math.floor(random() * size)
    if (chance < 0.1) await Promise.all(programs.map((_, index) => replace(index, 'SIGKILL', 'killed, all at once')))
    else if (chance < 0.25) await replace(place, 'SIGTERM', 'told to stop')
    else await replace(place, 'SIGKILL', 'killed')
  }

  const ending = (async () => {
    while (!calming.signal.aborted) {
      await sleep(least + random() * (most - least), undefined, { signal: calming.signal }).catch(() => undefined)
      if (!calming.signal.aborted) await endOne()
    }
  })()
  // The error is reported by `calm`, which every starter of a fleet awaits.
  ending.catch(() => undefined)
  let turn = 0
  return {
    any() {
      const program = programs[turn++ % programs.length]
      if (program === undefined) throw new Error('the fleet is empty')
      return program.client
    },
    endings,
    async calm() {
      calming.abort()
      await ending
    },
    async close() {
      await Promise.all(programs.map((program) => program.kill()))
    },
  }
}
