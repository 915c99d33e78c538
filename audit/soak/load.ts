import { setTimeout as sleep } from 'node:timers/promises'
import type { Message, RunBody } from '../../test/e2e/backend/client.ts'
import { inputText } from '../../test/e2e/crashes/parts/scripted-model.ts'
import type { Fleet } from './fleet.ts'

/**
 * `INPUTS`: number of inputs that a session gets. Afterwards, another session gets the inputs. `AT_A_TIME`: number of
 * sessions that get inputs at a time.
 */
const INPUTS = 10
const AT_A_TIME = 6
/** Kinds of requests. A kind that is listed more often is drawn more often. */
const WORDS = ['parallel', 'parallel', 'say', 'say', 'say', 'wait', 'large'] as const
const AGAIN_MS = 250
const ATTEMPTS = 400

/** An input that was acknowledged. */
export interface Accepted {
  readonly session: string
  readonly run: string
  readonly text: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Everything that clients have received during the load. */
export interface Report {
  readonly accepted: Accepted[]
  /** Number of inputs that clients gave up. No promise covers them. */
  refused: number
  /** Final messages that clients have received: the text of each message, by its id. */
  readonly shown: Map<string, string>
}

interface Settings {
  readonly fleet: Fleet
  readonly perSecond: number
  readonly random: () => number
  readonly signal: AbortSignal
}

/** Sends inputs at a steady rate, also while programs are killed. Records the messages that the programs return. */
export async function load({ fleet, perSecond, random, signal }: Settings): Promise<Report> {
  const reported: Report = { accepted: [], refused: 0, shown: new Map() }
  const pending: Promise<void>[] = []
  for (let index = 0; !signal.aborted; index++) {
    const session = `soak-${Math.floor(index / (INPUTS * AT_A_TIME))}-${index % AT_A_TIME}`
    const word = WORDS[Math.floor(random() * WORDS.length)] ?? 'say'
    pending.push(submit(fleet, reported, session, inputText(word, `n${index}`)))
    const known = reported.accepted[Math.floor(random() * reported.accepted.length)]
    if (known !== undefined && index % 5 === 0) pending.push(readSession(fleet, reported, known.session))
    await sleep(1_000 / perSecond, undefined, { signal }).catch(() => undefined)
  }
  await Promise.all(pending)
  return reported
}

async function submit(fleet: Fleet, reported: Report, session: string, text: string): Promise<void> {
  const headers = { 'content-type': 'application/json', prefer: 'respond-async', 'idempotency-key': text }
  const body = JSON.stringify({ content: text })
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const client = fleet.any()
    try {
      const made = await client.send('POST', '/v1/sessions', { id: session })
      const reply =
        made.status < 500 ? await client.send('POST', `/v1/sessions/${session}/messages`, body, headers) : made
      if (reply.status < 300) {
        reported.accepted.push({ session, run: (reply.body as RunBody).id, text, at: Date.now() })
        return
      }
      if (reply.status < 500 && reply.status !== 429) throw new Error(`an input was refused: ${reply.text}`)
    } catch (error) {
      // A TypeError means a broken connection: the program was killed, or has not started yet.
      if (!(error instanceof TypeError)) throw error
    }
    await sleep(AGAIN_MS)
  }
  reported.refused++
}

async function readSession(fleet: Fleet, reported: Report, session: string): Promise<void> {
  try {
    for (const message of await fleet.any().messages(session))
      if (isFinal(message)) reported.shown.set(message.id, JSON.stringify(message))
  } catch (error) {
    if (!(error instanceof TypeError) && !/: 5\d\d /.test(String(error))) throw error
  }
}

/**
 * Whether a message can no longer change. A user message could still lose its images, but these inputs have no images.
 */
const isFinal = (message: Message): boolean => message.role !== 'tool' || message.status === 'completed'
