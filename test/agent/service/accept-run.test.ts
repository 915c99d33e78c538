import { expect, test } from 'vitest'
import { acceptRun } from '../../../functions/agent/service/accept-run.ts'
import type { AcceptDependencies } from '../../../functions/agent/service/accept-run.ts'
import type { Session } from '../../../functions/domain/session.ts'
import type { NewRun } from '../../../functions/ports/run-inbox.ts'

const SESSION = { tenant: 'default', session: 's1', agent: 'default' } as Session
const RUN = {} as NewRun

/** Accepts a run. Returns the names of the notified ports, and the logged lines. */
async function accept(
  accepted: { readonly repeated?: boolean; readonly started?: object },
  { here, fails = false }: { readonly here: boolean; readonly fails?: boolean },
): Promise<string[]> {
  const reported: string[] = []
  const work = (name: string) => async (): Promise<void> => {
    reported.push(name)
    if (fails) throw new Error('no')
  }
  const dependencies = {
    agents: new Map(),
    inbox: { enqueue: async () => ({ runId: 'r', repeated: false, ...accepted }) },
    queue: { send: work('hint') },
    worker: {
      serve: work('serve'),
      serveStarted: () => ({ done: work('serveStarted')(), ended: Promise.resolve(undefined) }),
      idle: async () => undefined,
    },
    logger: {
      info: () => undefined,
      warn: () => undefined,
      error: (_: string, error: Error) => reported.push(error.message),
    },
  } as unknown as AcceptDependencies
  expect(await acceptRun(dependencies, SESSION, RUN, { here })).toMatchObject({ runId: 'r' })
  await new Promise((resolve) => setImmediate(resolve))
  return reported
}

test.each([false, true])(
  'a queued input sends a hint, because an earlier hint may be lost (repeated input: %s)',
  async (repeated) => {
    expect(await accept({ repeated }, { here: false })).toEqual(['hint'])
    expect(await accept({ repeated }, { here: true })).toEqual(['serve'])
  },
)

test('a run that is started in this process is executed here', async () => {
  expect(await accept({ started: {} }, { here: true })).toEqual(['serveStarted'])
})

test('an error after the input was accepted is logged and does not fail the request', async () => {
  expect(await accept({}, { here: false, fails: true })).toEqual(['hint', 'no'])
  expect(await accept({}, { here: true, fails: true })).toEqual(['serve', 'no'])
  expect(await accept({ started: {} }, { here: true, fails: true })).toEqual(['serveStarted', 'no'])
})
