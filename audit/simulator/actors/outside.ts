import type { ClosedAssistantMessage, ClosedMessage } from '../../../functions/domain/messages/closed-message.ts'
import { isLeaders, OPEN_STATUSES, textOf } from '../../../functions/domain/messages/message.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import { isEnded } from '../../../functions/domain/runs/run.ts'
import { allMessages } from '../../../test/contracts/snapshot.ts'
import type { SessionPorts } from '../../../test/contracts/stores.ts'
import type { Harness } from '../harness.ts'
import { must } from '../harness.ts'
import type { MemoryOutputs } from '../world/outputs.ts'
import type { Program } from '../program.ts'
import { namesIn } from './said.ts'
import type { Operation } from '../scripts/script.ts'
import type { Watch } from './sessions.ts'

type Of<Type extends Operation['type']> = Extract<Operation, { readonly type: Type }>

interface Parts {
  readonly harness: Harness
  /** Retries until a server accepts or refuses the request. Returns undefined if it was refused or never answered. */
  retry<T>(
    what: string,
    server: number,
    retries: number,
    work: (program: Program) => Promise<T>,
  ): Promise<{ readonly value: T } | undefined>
  wait(milliseconds: number): Promise<void>
}

/** Requests to a session from outside its runs: imports of other logs, manual summaries, and ratings of answers. */
export interface Outside {
  bring(watch: Watch, operation: Of<'import'>): Promise<void>
  consolidate(watch: Watch, operation: Of<'consolidate'>): Promise<void>
  fork(watch: Watch, operation: Of<'fork'>): Promise<void>
  rate(watch: Watch, operation: Of<'rate'>): Promise<void>
}

export function createOutside({ harness, retry, wait }: Parts): Outside {
  return {
    async bring(watch, { names, server, retries, again }) {
      const [first = ''] = names
      const name = { keyHash: `import ${first}`, bodyHash: first, forGood: false }
      const brought = { names, acknowledged: false }
      watch.imported.push(brought)
      const send = async (program: Program) =>
        program.service.importMessages(await program.session(watch.key), turnsOf(names), { name })
      const what = `an import of ${names.length} from ${first}`
      brought.acknowledged = (await retry(what, server, retries, send)) !== undefined
      if (!brought.acknowledged || again === undefined) return
      await wait(again)
      if (harness.timeline.slept() > 0) return
      const second = await retry(`${what} once more`, server + 1, 0, send)
      const isForgotten = harness.timeline.slept() > 0
      must('the same import stores nothing twice', isForgotten || (second?.value.messages ?? 0) === 0, first)
    },
    async consolidate(watch, { key, server }) {
      const options = { idempotency: { keyHash: key, bodyHash: key } }
      const reply = await retry(`a summary by hand, ${key}`, server, 2, async (program) =>
        program.service.consolidate(await program.session(watch.key), options),
      )
      const through = reply?.value.through ?? ''
      if (through > watch.summarised) watch.summarised = through
    },
    async fork(watch, { name, server, retries }) {
      const ends = watch.seen.runs.flatMap(({ id, status }) => {
        const last = watch.seen.messages.findLast(({ runId }) => runId === id)
        return isEnded(status) && last !== undefined ? [last.id] : []
      })
      if (ends.length === 0) return
      const through = harness.dice.pick('forked at', ends)
      const copied = watch.seen.messages.filter(({ id }) => id <= through)
      const fork = { name, said: namesSaid(copied), read: textsRead(copied), acknowledged: false }
      watch.forks.push(fork)
      const copy = (program: Program) => program.fork(watch.key, through, name)
      fork.acknowledged = (await retry(`${name} of ${watch.key.session}`, server, retries, copy)) !== undefined
    },
    async rate(watch, { user, server }) {
      const answers = watch.seen.messages.filter(({ role }) => role === 'assistant')
      if (answers.length === 0) return
      const { id } = harness.dice.pick('rated', answers)
      const at = Math.floor(harness.timeline.now())
      const reply = await retry(`${user} rates ${id}`, server, 2, (program) =>
        program.rate(watch.key, id, { user, rating: 'positive', at }),
      )
      if (reply?.value === true) watch.rated.push({ id, user })
    },
  }
}

/** Returns the names of the inputs in the user messages. */
const namesSaid = (messages: readonly Message[]): string[] =>
  messages.flatMap((one) => (one.role === 'user' && isLeaders(one) ? namesIn(textOf(one.parts)) : []))

/** Returns the results of imported calls among the messages. */
const textsRead = (messages: readonly Message[]): string[] =>
  messages.flatMap((one) => (one.role === 'tool' ? [textOf(one.parts)] : [])).filter((text) => text.startsWith(READ))
const READ = 'read there: '

/** A number of calls that exceeds the limit of one step of an import. */
const LONG_ROUND = 100
/**
 * Returns the number of calls in a turn of another log. Every third turn has calls. Some of these turns have more calls
 * than one step can contain.
 */
const callsOf = (place: number): number => (place % 3 !== 0 ? 0 : place % 5 === 4 ? LONG_ROUND : 1)
/** Returns the results of the imported calls, in order. */
const readThere = (name: string, place: number): string[] =>
  Array.from({ length: callsOf(place) }, (_, call) => `${READ}${name} ${call}.`)

/** Builds the turns of another log. */
function turnsOf(names: readonly string[]): ClosedMessage[] {
  return names.flatMap((name, place): ClosedMessage[] => {
    const said = JSON.stringify({ name, rounds: [], ids: 'fresh' })
    const user = { role: 'user', parts: [{ type: 'text', text: said }] } as const
    const answer = { role: 'assistant', parts: [{ type: 'text', text: `told ${name}` }], toolCalls: [] } as const
    const results = readThere(name, place)
    if (results.length === 0) return [user, answer]
    const toolCalls = results.map((_, call) => {
      const text = JSON.stringify({ token: `there-${name}-${call}` })
      return { id: `call_${call}`, name: 'read', arguments: text }
    })
    const parts = toolCalls.map(({ id }) => ({ type: 'tool_call', id }) as const)
    const asked: ClosedAssistantMessage = { role: 'assistant', parts, toolCalls }
    const returned = results.map((text, sequence): ClosedMessage => {
      return { role: 'tool', of: asked, sequence, status: 'completed', parts: [{ type: 'text', text }] }
    })
    return [user, asked, ...returned, answer]
  })
}

/**
 * Checks imports: an acknowledged import is stored completely, once and in order. An unacknowledged import may be
 * stored in part, from its beginning. Also checks summaries and ratings. `slept`: days have passed.
 */
export function checkOutside({ seen, imported, summarised, rated, key }: Watch, slept: boolean): void {
  const said = namesSaid(seen.messages)
  const read = textsRead(seen.messages)
  for (const { names, acknowledged } of imported) {
    const stored = said.filter((name) => names.includes(name))
    const most = acknowledged ? names.length : stored.length
    const expected = names.slice(0, most).join(' ')
    // After a day, the name of an import is forgotten. A repeated request then stores its messages once more.
    const holds = slept ? stored.length >= (acknowledged ? names.length : 0) : stored.join(' ') === expected
    must('an import is in the log once and in order', holds, `${key.session}: ${stored.join(' ')}, not ${expected}`)
    const brought = names.slice(0, stored.length).flatMap(readThere)
    const there = read.filter((text) => brought.includes(text))
    const isBeginning = there.join() === brought.slice(0, there.length).join()
    const isEnough = acknowledged ? there.length === brought.length : isBeginning
    must('what an import has read is there once and in order', slept || (isBeginning && isEnough), key.session)
  }
  const through = seen.session?.summary?.through ?? ''
  must('an acknowledged summary stays, or a later one', through >= summarised, `${key.session}: ${summarised}`)
  for (const { id, user } of rated) {
    const message = seen.messages.find((one) => one.id === id)
    const given = message?.role === 'assistant' ? (message.feedback ?? []) : []
    must(
      'an acknowledged rating is with its message',
      given.some((one) => one.user === user),
      `${user}: ${id}`,
    )
  }
}

interface Stored {
  readonly ports: SessionPorts
  readonly outputs: MemoryOutputs
}

/**
 * Checks that an acknowledged copy is complete, including its outputs. An unacknowledged copy must equal the beginning
 * of the log.
 */
export async function checkForks({ ports, outputs }: Stored, { key, forks }: Watch): Promise<void> {
  for (const { name, said, read, acknowledged } of forks) {
    const to = { tenant: key.tenant, session: name }
    const messages = await allMessages(ports.reader, to)
    const copied = namesSaid(messages)
    const expected = (acknowledged ? said : said.slice(0, copied.length)).join(' ')
    must('a copy says what was said', copied.join(' ') === expected, `${name}: ${copied.join(' ')}, not ${expected}`)
    const there = textsRead(messages)
    const isCopied = there.join() === (acknowledged ? read : read.slice(0, there.length)).join()
    must('a copy has what was read', isCopied, `${name}: ${there.length} of ${read.length}`)
    const objects = outputs.names(to).join('\n')
    for (const row of messages) {
      if (row.role !== 'tool') continue
      must('a copy has no open calls', !OPEN_STATUSES.includes(row.status), `${name}: ${row.id}`)
      const object = row.output?.object
      must('a copy has its outputs', object === undefined || objects.includes(object), `${name}: ${row.id}`)
    }
  }
}
