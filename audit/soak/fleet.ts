import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../test/e2e/backend/client.ts'
import type { RunningProgram } from '../../test/e2e/backend/program.ts'

/** Several programs on one backend. They are killed at random and restarted. */
export interface Fleet {
  /** Returns one of the programs that should be running. It may die before a request reaches it. */
  any(): Client
  /** Number of programs that were ended, by the way in which they ended. */
  readonly endings: ReadonlyMap<string, number>
  /** Stops killing and restarting programs. Resolves when all programs run. */
  calm(): Promise<void>
  close(): Promise<void>
}

interface Settings {
  readonly size: number
  readonly start: () => Promise<RunningProgram>
  readonly random: () => number
  /** Minimum and maximum time between two endings, in milliseconds. */
  readonly gapMs: readonly [number, number]
}

/**
 * Starts programs, and ends them at random. Usually one program is killed, and sometimes all of them. Sometimes a
 * program is requested to stop instead.
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
  // The error is not lost: `calm` reports it, and every user of a fleet awaits `calm`.
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
