import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../client/client.ts'
import { createRunPrinter, onLost } from '../run-printer.ts'
import { note, oneLine, onErrors, printJson } from '../terminal.ts'
import { show } from './show.ts'

export interface TailOptions {
  /** Messages to show first. */
  readonly limit: number
  readonly json?: boolean
}

/** Between looks at a session in which nothing runs. */
const IDLE_MS = 1_000

/** Shows the newest messages of a session, and then its runs as they happen, until `signal` aborts. */
export async function tail(client: Client, session: string, options: TailOptions, signal: AbortSignal): Promise<void> {
  const { json = false } = options
  await show(client, session, options)
  // A paused run is looked at again and again.
  const shown = new Set<string>()
  let ended: string | undefined = await latestEnded(client, session)
  while (!signal.aborted) {
    const { run } = await client.readSession(session)
    if (run === null || run.id === ended) {
      await sleep(IDLE_MS, undefined, { signal }).catch(() => undefined)
      continue
    }
    const printer = createRunPrinter()
    for await (const { id, event } of client.follow(session, run.id, { signal, onLost })) {
      if (id !== undefined && shown.has(id)) continue
      if (id !== undefined) shown.add(id)
      if (json) printJson(event)
      else {
        if (event.type === 'run.started' && event.message !== undefined)
          note(onErrors('bold', `USER ${inputOf(event.message)}\n`))
        printer.show(event)
      }
      if ('run' in event && ['completed', 'failed', 'cancelled'].includes(event.run.status)) ended = run.id
    }
    if (ended !== run.id) await sleep(IDLE_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function latestEnded(client: Client, session: string): Promise<string | undefined> {
  const { run } = await client.readSession(session)
  return run !== null && ['completed', 'failed', 'cancelled'].includes(run.status) ? run.id : undefined
}

const inputOf = ({ parts }: { readonly parts: readonly object[] }): string =>
  oneLine(parts.map((part) => ('text' in part ? String(part.text) : '[file]')).join(' '), 200)
