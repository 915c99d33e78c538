import { TooltrailError } from '../../../functions/domain/errors.ts'
import { isEnded } from '../../../functions/domain/runs/run.ts'
import { isBlocked } from '../../../functions/domain/session.ts'
import { must } from '../harness.ts'
import { followRun } from './followers.ts'
import { createOutside } from './outside.ts'
import { decisionOn } from '../program.ts'
import type { Program, WaitingCall } from '../program.ts'
import type { Operation } from '../scripts/script.ts'
import type { Servers } from '../world/servers.ts'
import type { Sessions, Watch } from './sessions.ts'
import type { Harness } from '../harness.ts'

const TIMEOUT_MS = 30_000
const RETRY_MS = 2_000
/** Number of times that a person polls for waiting calls. */
const MAX_POLLS = 6

type Reply<T> = { readonly value: T } | { readonly error: unknown }
type Of<Type extends Operation['type']> = Extract<Operation, { readonly type: Type }>

/** The persons and programs that send requests. A request reaches one server or, if it is lost, none. */
export interface Clients {
  perform(operation: Operation): void
  /** Number of requests and streams that have not ended. */
  open(): number
}

export function createClients(harness: Harness, servers: Servers, sessions: Sessions): Clients {
  let open = 0
  const wait = (milliseconds: number): Promise<void> =>
    new Promise((resolve) => harness.timeline.after(milliseconds, undefined, resolve))
  const latency = (): number => 1 + 20 * harness.dice.next('clients')

  /**
   * Sends one request. If no reply arrives in time, the client counts the request as failed, although it may have been
   * executed.
   */
  function ask<T>(number: number, work: (program: Program) => Promise<T>): Promise<Reply<T>> {
    return new Promise((resolve) => {
      const over = harness.timeline.after(TIMEOUT_MS, undefined, () => resolve({ error: new Error('no reply') }))
      const reply = (one: Reply<T>): void => {
        harness.timeline.after(latency(), undefined, () => {
          over.cancelled = true
          resolve(one)
        })
      }
      harness.timeline.after(latency(), undefined, () => {
        const isTaken = servers.call(number, (program) =>
          work(program).then(
            (value) => reply({ value }),
            (error: unknown) => reply({ error }),
          ),
        )
        if (!isTaken) reply({ error: new Error('connection refused') })
      })
    })
  }

  /** Retries until a server accepts or refuses the request. Returns undefined if it was refused or never answered. */
  async function retry<T>(
    what: string,
    number: number,
    retries: number,
    work: (program: Program) => Promise<T>,
  ): Promise<{ readonly value: T } | undefined> {
    for (let tried = 0; tried <= retries; tried++) {
      if (tried > 0) await wait(RETRY_MS)
      const reply = await ask(number + tried, work)
      if ('value' in reply) {
        harness.note(`client: ${what} is acknowledged`)
        return reply
      }
      const { error } = reply
      harness.note(`client: ${what}: ${error instanceof Error ? error.message : String(error)}`)
      if (error instanceof TooltrailError && !error.retryable) return undefined
    }
    return undefined
  }

  async function submit(watch: Watch, operation: Of<'submit'>): Promise<void> {
    const { input, onBusy, here, server, retries, owes } = operation
    const before = watch.accepted.map(({ runId }) => runId)
    const submission = {
      parts: [{ type: 'text', text: JSON.stringify(input) } as const],
      clientTools: [{ name: 'local', description: 'local', parameters: {} }],
      onBusy,
      idempotency: { keyHash: input.name, bodyHash: input.name },
      ...(owes === undefined ? {} : { delivery: { kind: owes, target: {} } }),
    }
    const send = async (program: Program) =>
      program.service.submit(await program.session(watch.key), submission, { here })
    const reply = await retry(`${onBusy} ${input.name}`, server, retries, send)
    if (reply === undefined) return
    const { runId } = reply.value
    must(
      'an input runs after those acknowledged before it was sent',
      before.every((one) => one < runId),
      input.name,
    )
    watch.accepted.push({ runId, input: input.name })
    if (operation.again === undefined) return
    await wait(operation.again)
    // After a day, servers forget idempotency keys, so the check is skipped.
    if (harness.timeline.slept() > 0) return
    const second = await retry(`${input.name} once more`, server + 1, 0, send)
    checkSameRun(runId, second?.value.runId, input.name)
  }

  async function resume(watch: Watch, { here, server, repeated }: Of<'continue'>): Promise<void> {
    const key = repeated?.key ?? ''
    const options = repeated === undefined ? {} : { idempotency: { keyHash: key, bodyHash: key } }
    const send = async (program: Program) =>
      program.service.continue(await program.session(watch.key), options, { here })
    const reply = await retry(`continue ${key}`, server, repeated === undefined ? 0 : 1, send)
    if (reply === undefined) return
    const { runId } = reply.value
    watch.accepted.push({ runId, input: undefined })
    if (repeated === undefined) return
    await wait(repeated.again)
    const second = await retry(`continue ${key} once more`, server + 1, 0, send)
    checkSameRun(runId, second?.value.runId, key)
  }

  /**
   * Checks that two requests with one idempotency key got the same run. Keys are forgotten after a day, so the check is
   * skipped after a day.
   */
  function checkSameRun(first: string, second: string | undefined, name: string): void {
    must('the same key gives the same run', harness.timeline.slept() > 0 || (second ?? first) === first, name)
  }

  async function decide(watch: Watch, operation: Of<'decide'>): Promise<void> {
    for (let polls = 0; polls < MAX_POLLS; polls++) {
      const found = sessions.waiting(watch)
      const [first] = found
      if (first !== undefined)
        return send(
          first.runId,
          (operation.all ? found : [first]).map(({ call }) => call),
        )
      await wait(1_000 + 2_000 * harness.dice.next('persons'))
    }

    async function send(runId: string, calls: readonly WaitingCall[]): Promise<void> {
      const { allow, here, server, byId = false } = operation
      await wait(200 + 2_000 * harness.dice.next('persons'))
      const decisions = calls.map(({ token }) => ({ token, allow, acknowledged: false }))
      watch.decided.push(...decisions)
      const request = (isByIds: boolean) => {
        const resolutions = calls.map((call) => decisionOn(call, allow, isByIds))
        return async (program: Program) =>
          program.service.resolve(await program.session(watch.key), runId, resolutions, { here })
      }
      const what = `${allow ? 'yes' : 'no'} to ${calls.map(({ token }) => token).join(' ')}`
      const post = request(byId)
      const answered = await retry(`${what}${byId ? ' by id' : ''}`, server, 1, post)
      const reply = answered ?? (byId ? await retry(what, server, 1, request(false)) : undefined)
      if (reply !== undefined) for (const decision of decisions) decision.acknowledged = true
      if (operation.again === undefined) return
      await wait(operation.again)
      await retry(`${what}, once more`, server + 1, 0, post)
    }
  }

  async function cancel(watch: Watch, { server }: Of<'cancel'>): Promise<void> {
    const runId = watch.seen.header?.activeRun ?? watch.accepted.at(-1)?.runId
    if (runId === undefined) return
    const reply = await retry(`cancel in ${watch.key.session}`, server, 2, (program) =>
      program.service.cancel(watch.key, runId),
    )
    const run = watch.seen.runs.find((one) => one.id === runId)
    if (reply === undefined || run === undefined) return
    const target = watch.seen.runs.find((one) => one.id === (run.mergedInto ?? run.id))
    if (target !== undefined && !isEnded(target.status)) watch.cancelled.set(target.id, harness.elapsed())
  }

  async function remove(watch: Watch, { server }: Of<'delete'>): Promise<void> {
    watch.unwanted = true
    const reply = await retry(`delete ${watch.key.session}`, server, 0, (program) =>
      program.service.deleteSession(watch.key),
    )
    if (reply !== undefined) watch.deleted = true
  }

  async function follow(watch: Watch, { server }: Of<'follow'>): Promise<void> {
    if (harness.dice.chance('waits for the end', 0.5)) await settle(watch, server)
    else await followRun(harness, servers, watch, server)
  }

  async function settle(watch: Watch, server: number): Promise<void> {
    const runId = watch.seen.header?.activeRun ?? watch.accepted.at(-1)?.runId
    const { process, program } = servers.all[server % servers.all.length] ?? {}
    if (runId === undefined || process === undefined || program === undefined) return
    await new Promise<void>((resolve) => {
      const giveUp = (): void => {
        const run = watch.seen.runs.find((one) => one.id === runId)
        const waits = run?.status === 'queued' && watch.seen.header !== undefined && isBlocked(watch.seen.header)
        if (process.state === 'dead' || waits) resolve()
        else harness.timeline.after(5_000, undefined, giveUp)
      }
      giveUp()
      harness.timeline.after(0, process, () => {
        void waitForEnd(program).then(
          () => harness.timeline.after(0, undefined, resolve),
          (error: unknown) => harness.fail(error),
        )
      })
    })

    /** Waits until the run is over, without following its events. Then checks that the run has ended or paused. */
    async function waitForEnd({ service }: Program): Promise<void> {
      try {
        await service.settled(watch.key, runId ?? '', new AbortController().signal)
      } catch (error) {
        if (!(error instanceof TooltrailError)) throw error
        return harness.note(`client: waiting for ${watch.key.session} broke: ${error.message}`)
      }
      const run = watch.seen.runs.find((one) => one.id === runId)
      const isOver = run === undefined || isEnded(run.status) || ['merged', 'paused'].includes(run.status)
      must('who has waited for a run finds it settled', isOver, run?.id)
      harness.note(`client: ${watch.key.session} is settled`)
    }
  }

  const outside = createOutside({ harness, retry, wait })

  function start(watch: Watch, operation: Operation): Promise<void> {
    if (operation.type === 'submit') return submit(watch, operation)
    if (operation.type === 'continue') return resume(watch, operation)
    if (operation.type === 'decide') return decide(watch, operation)
    if (operation.type === 'cancel') return cancel(watch, operation)
    if (operation.type === 'delete') return remove(watch, operation)
    if (operation.type === 'import') return outside.bring(watch, operation)
    if (operation.type === 'consolidate') return outside.consolidate(watch, operation)
    if (operation.type === 'fork') return outside.fork(watch, operation)
    if (operation.type === 'rate') return outside.rate(watch, operation)
    return follow(watch, operation)
  }

  return {
    perform(operation) {
      const watch = sessions.all[operation.session % sessions.all.length]
      if (watch === undefined) return
      open++
      start(watch, operation).then(
        () => void open--,
        (error: unknown) => harness.fail(error),
      )
    },
    open: () => open,
  }
}
