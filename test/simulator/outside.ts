import type { ClosedAssistantMessage, ClosedMessage } from '../../functions/domain/closed-message.ts'
import { textOf } from '../../functions/domain/message.ts'
import type { Harness } from './harness.ts'
import { must } from './harness.ts'
import type { Program } from './program.ts'
import { namesIn } from './said.ts'
import type { Operation } from './script.ts'
import type { Watch } from './sessions.ts'

type Of<Type extends Operation['type']> = Extract<Operation, { readonly type: Type }>

interface Parts {
  readonly harness: Harness
  /** Tries until a server has said yes or no; undefined when it was no, or nobody said anything. */
  insist<T>(
    what: string,
    server: number,
    retries: number,
    work: (program: Program) => Promise<T>,
  ): Promise<{ readonly value: T } | undefined>
  wait(milliseconds: number): Promise<void>
}

/** What comes to a session from outside of its runs: turns of another log, summaries by hand, and what people think of answers. */
export interface Outside {
  bring(watch: Watch, operation: Of<'import'>): Promise<void>
  consolidate(watch: Watch, operation: Of<'consolidate'>): Promise<void>
  rate(watch: Watch, operation: Of<'rate'>): Promise<void>
}

export function createOutside({ harness, insist, wait }: Parts): Outside {
  return {
    async bring(watch, { names, server, retries, again }) {
      const [first = ''] = names
      const name = { keyHash: `import ${first}`, bodyHash: first, forGood: false }
      const brought = { names, acknowledged: false }
      watch.imported.push(brought)
      const send = async (program: Program) =>
        program.service.importMessages(await program.session(watch.key), turnsOf(names), { name })
      const what = `an import of ${names.length} from ${first}`
      brought.acknowledged = (await insist(what, server, retries, send)) !== undefined
      if (!brought.acknowledged || again === undefined) return
      await wait(again)
      if (harness.timeline.slept() > 0) return
      const second = await insist(`${what} once more`, server + 1, 0, send)
      const isForgotten = harness.timeline.slept() > 0
      must('the same import stores nothing twice', isForgotten || (second?.value.messages ?? 0) === 0, first)
    },
    async consolidate(watch, { key, server }) {
      const options = { idempotency: { keyHash: key, bodyHash: key } }
      const reply = await insist(`a summary by hand, ${key}`, server, 2, async (program) =>
        program.service.consolidate(await program.session(watch.key), options),
      )
      const through = reply?.value.through ?? ''
      if (through > watch.summarised) watch.summarised = through
    },
    async rate(watch, { user, server }) {
      const answers = watch.seen.messages.filter(({ role }) => role === 'assistant')
      if (answers.length === 0) return
      const { id } = harness.dice.pick('rated', answers)
      const at = Math.floor(harness.timeline.now())
      const reply = await insist(`${user} rates ${id}`, server, 2, (program) =>
        program.rate(watch.key, id, { user, rating: 'positive', at }),
      )
      if (reply?.value === true) watch.rated.push({ id, user })
    },
  }
}

/** Turns as another log has them; every third with a call. */
function turnsOf(names: readonly string[]): ClosedMessage[] {
  return names.flatMap((name, place): ClosedMessage[] => {
    const said = JSON.stringify({ name, rounds: [], ids: 'fresh' })
    const user = { role: 'user', parts: [{ type: 'text', text: said }] } as const
    const answer = { role: 'assistant', parts: [{ type: 'text', text: `told ${name}` }], toolCalls: [] } as const
    if (place % 3 !== 0) return [user, answer]
    const token = JSON.stringify({ token: `there-${name}` })
    const asked: ClosedAssistantMessage = {
      role: 'assistant',
      parts: [{ type: 'tool_call', id: 'call_0' }],
      toolCalls: [{ id: 'call_0', name: 'read', arguments: token }],
    }
    const result = { role: 'tool', of: asked, sequence: 0, status: 'completed' } as const
    return [user, asked, { ...result, parts: [{ type: 'text', text: 'read there' }] }, answer]
  })
}

/** What came from outside and was acknowledged is there, once and in order, and of the rest a beginning. `slept`: days have passed. */
export function checkOutside({ seen, imported, summarised, rated, key }: Watch, slept: boolean): void {
  const said = seen.messages.flatMap(({ role, parts }) => (role === 'user' ? namesIn(textOf(parts)) : []))
  for (const { names, acknowledged } of imported) {
    const stored = said.filter((name) => names.includes(name))
    const most = acknowledged ? names.length : stored.length
    const expected = names.slice(0, most).join(' ')
    // A name is forgotten after a day: a repetition is another import then.
    const holds = slept ? stored.length >= (acknowledged ? names.length : 0) : stored.join(' ') === expected
    must('an import is in the log once and in order', holds, `${key.session}: ${stored.join(' ')}, not ${expected}`)
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
