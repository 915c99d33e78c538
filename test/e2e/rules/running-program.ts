import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { Client, RunBody, SearchHit } from '../backend/client.ts'
import type { CrashBench } from '../crashes/crash-runner.ts'
import { createCrashBench } from '../crashes/crash-runner.ts'
import { expectReplayable, textOf } from '../crashes/invariants.ts'
import { inputText, scriptedModel } from '../crashes/parts/scripted-model.ts'
import type { SentEvent } from '../backend/event-text.ts'
import { readEvents } from '../backend/event-text.ts'
import { onceFound } from '../backend/backend.ts'
import type { Backend } from '../backend/backend.ts'
import type { RunningProgram } from '../backend/program.ts'
import { startProgram } from '../backend/program.ts'
import { PROMISED_TIME_RETRIES, until } from '../../eventually.ts'

const MAX_CANCEL_MS = 1_000
/** Time limit of a wait that must end. */
const SOON_MS = 30_000
const STREAMED = 'a long completion that never comes to its end'
const ASYNC = { prefer: 'respond-async' }

/** Tests cancel, hand-off, streams and waits while processes are replaced. */
export const runningProgramOn = (backend: Backend) =>
  describe(`the running program, on ${backend.name}`, () => {
    let model: OpenAiServer
    let bench: CrashBench
    let programs: RunningProgram[]

    beforeAll(async () => {
      model = await startOpenAiServer((request) =>
        JSON.stringify(request.messages.at(-1)).includes('stream please')
          ? { completion: { parts: [{ type: 'text', text: STREAMED }] }, hangAfter: 5 }
          : scriptedModel(request),
      )
    })
    afterAll(() => model.close())
    beforeEach(async () => {
      bench = await createCrashBench(model.baseUrl, backend)
      programs = []
    })
    afterEach(async () => {
      await Promise.all(programs.map((program) => program.kill()))
      await bench.remove()
    })

    async function start(): Promise<RunningProgram> {
      const program = await bench.start()
      programs.push(program)
      return program
    }

    async function post(client: Client, word: string, headers: Record<string, string> = ASYNC): Promise<RunBody> {
      await client.send('POST', '/v1/sessions', { id: 's' })
      return client.post('/v1/sessions/s/messages', { content: inputText(word, 'u') }, headers)
    }

    test.for(['stream', 'hang'])(
      'a cancel from another process takes effect within a second (%s)',
      { retry: PROMISED_TIME_RETRIES },
      async (word) => {
        const [one, other] = [await start(), await start()]
        const run = await post(one.client, word)
        if (word === 'hang') await untilToolRuns(one.client)
        else await untilText(one.client, run.id)
        const asked = Date.now()
        await other.client.post(`/v1/sessions/s/runs/${run.id}/cancel`, undefined)
        const ended = await other.client.runUntil('s', run.id, ['cancelled'])
        expect(Date.parse(ended.ended_at ?? '') - asked).toBeLessThanOrEqual(MAX_CANCEL_MS)
        const last = (await other.client.messages('s')).at(-1)
        // The call had started, so its outcome is unknown.
        if (word === 'hang') expect(last?.status).toBe('interrupted')
        else expect(last !== undefined && STREAMED.startsWith(textOf(last)) && textOf(last) !== '').toBe(true)
      },
    )

    test('a stopped program ends the round and hands the run off, and the next program continues it', async () => {
      const one = await start()
      const run = await post(one.client, 'wait')
      await untilToolRuns(one.client)
      await one.kill('SIGTERM')
      const next = await start()
      const ended = await next.client.runUntil('s', run.id, ['completed'])
      const messages = await next.client.messages('s')
      expectReplayable('s', messages, await next.client.chat('s'))
      expect(messages.filter((message) => message.role === 'tool').map((message) => message.status)).toStrictEqual([
        'completed',
        'completed',
      ])
      expect(ended.rounds).toBe(3)
    })

    test('an interrupted stream continues with Last-Event-ID after a restart, and misses no stored event', async () => {
      const one = await start()
      const run = await post(one.client, 'wait')
      const cut = readStream(one.client, run.id).catch(() => undefined)
      await untilToolRuns(one.client)
      await one.kill('SIGTERM')
      const before = (await cut) ?? []
      expect(before.map((event) => event.type)).not.toContain('run.completed')
      const next = await start()
      const last = before.findLast((event) => event.id !== undefined)?.id
      const after = await readStream(next.client, run.id, last)
      const seen = new Set([...before, ...after].flatMap((event) => event.id ?? []))
      const whole = await readStream(next.client, run.id)
      expect(whole.flatMap((event) => event.id ?? []).filter((id) => !seen.has(id))).toStrictEqual([])
      expect(after.at(-1)?.type).toBe('run.completed')
    })

    test('a waiting request returns the run and its messages, or 202 after its wait', async () => {
      const { client } = await start()
      const done = await post(client, 'parallel', { prefer: 'wait=30' })
      expect(done.status).toBe('completed')
      expect(done.messages?.map((message) => message.role).join(' ')).toBe(
        'user assistant tool tool tool assistant tool tool assistant',
      )
      const asked = Date.now()
      const late = await client.send(
        'POST',
        '/v1/sessions/s/messages',
        { content: inputText('hang', 'v') },
        { prefer: 'wait=1' },
      )
      expect(late.status).toBe(202)
      expect(late.headers.get('location')).toBe(`/v1/sessions/s/runs/${(late.body as RunBody).id}`)
      expect(Date.now() - asked).toBeLessThan(SOON_MS)
    })

    test('respond-async responds at once, and a repeated request returns the same run', async () => {
      const { client } = await start()
      const headers = { ...ASYNC, 'idempotency-key': 'k' }
      const first = await post(client, 'hang', headers)
      const again = await post(client, 'hang', headers)
      expect(again.id).toBe(first.id)
      const other = await client.send('POST', '/v1/sessions/s/messages', { content: 'another' }, headers)
      expect(other.status).toBe(409)
      expect((await client.get<RunBody>(`/v1/sessions/s/runs/${first.id}`)).status).toBe('running')
    })

    test('a paused run is cancelled at once, without a wait for the queued run behind it', async () => {
      const { client } = await start()
      const clientTool = { name: 'client', description: 'executed by the caller', parameters: { type: 'object' } }
      await client.send('POST', '/v1/sessions', { id: 's' })
      const input = { content: inputText('pauses', 'u'), tools: [clientTool] }
      const run = await client.post<RunBody>('/v1/sessions/s/messages', input, ASYNC)
      await untilToolRuns(client)
      const behind = await client.post<RunBody>('/v1/sessions/s/messages', { content: inputText('hang', 'v') }, ASYNC)
      await client.runUntil('s', run.id, ['paused'])
      const asked = Date.now()
      const cancelled = await client.post<RunBody>(`/v1/sessions/s/runs/${run.id}/cancel`, undefined)
      expect(cancelled.status).toBe('cancelled')
      expect(Date.now() - asked).toBeLessThan(SOON_MS)
      await client.runUntil('s', behind.id, ['running'])
    })

    const untilToolRuns = (client: Client): Promise<void> =>
      until(async () => (await client.messages('s')).some((message) => message.role === 'tool'))

    /** Follows a run until the first text delta. */
    async function untilText(client: Client, run: string): Promise<void> {
      const response = await fetch(`${client.url}/v1/sessions/s/runs/${run}/events`)
      let text = ''
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        text += Buffer.from(chunk).toString()
        if (text.includes('text.delta')) return
      }
    }

    async function readStream(client: Client, run: string, after?: string): Promise<SentEvent[]> {
      const headers: Record<string, string> = after === undefined ? {} : { 'last-event-id': after }
      const response = await fetch(`${client.url}/v1/sessions/s/runs/${run}/events`, { headers })
      return readEvents(await response.text())
    }
  })

/** Starts the program as a person does, without test settings. */
export const startedByHandOn = (backend: Backend) =>
  test(`the program without test settings retains a conversation through a kill and finds it, on ${backend.name}`, async () => {
    const { env, remove } = await backend.open()
    let program = await startProgram({ env })
    try {
      await program.client.post('/v1/sessions', { id: 's' })
      const run = await program.client.post<RunBody>('/v1/sessions/s/messages', { content: 'What time is it?' })
      expect(run.status).toBe('completed')
      const before = await program.client.messages('s')
      expect(before.map((message) => message.role)).toStrictEqual(['user', 'assistant', 'tool', 'assistant'])
      await program.kill()
      program = await startProgram({ env })
      expect(await program.client.messages('s')).toStrictEqual(before)
      await onceFound(backend, async () => {
        const found = await program.client.get<{ data: SearchHit[] }>('/v1/search?q=current_time')
        expect(found.data.map((hit) => hit.message_id)).toContain(before[2]?.id)
      })
      const next = await program.client.post<RunBody>('/v1/sessions/s/messages', { content: 'What time is it now?' })
      expect(next.status).toBe('completed')
    } finally {
      await program.kill()
      await remove()
    }
  })
