import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { drawn } from '../../fixtures/png.ts'
import type { ChatRequest, OpenAiServer, OpenAiStep } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { ScriptedPart } from '../../model-server/scripted-completion.ts'
import type { Backend, Place } from '../backend/backend.ts'
import type { Client, RunBody } from '../backend/client.ts'
import type { RunningProgram } from '../backend/program.ts'
import { startProgram } from '../backend/program.ts'

/**
 * Number of inputs of a session. If processes are replaced, each input after the first is sent to a program that has just
 * started.
 */
const CYCLES = 4
const DELEGATE = 'delegate_task_to_member'
const ASK = { name: 'ask', description: 'asks the caller', parameters: { type: 'object' } }
const call = (name: string, input: object): readonly [string, object] => [name, input]

/**
 * Rounds of calls that the model makes after each input, by the name of the session or member. After these rounds, the
 * model completes with a text. A call of `ask` waits for the caller's answer, which the next process gets.
 */
const PLANS: { readonly [name: string]: (turn: string) => readonly (readonly (readonly [string, object])[])[] } = {
  tools: (turn) => [[call('find', { name: `x${turn}` })], [call('find', { name: `y${turn}` }), call('ask', {})]],
  images: (turn) => [[call('draw', { name: `picture${turn}` })]],
  noted: (turn) => [[call('draw', { name: `sketch${turn}` })]],
  sources: (turn) => [[call('find', { name: `s${turn}` })]],
  consolidated: (turn) => [[call('find', { name: `c${turn}` })]],
  team: (turn) => [
    [
      call(DELEGATE, { member: 'looker', task: `look ${turn}` }),
      call(DELEGATE, { member: 'asker', task: `ask ${turn}` }),
    ],
  ],
  looker: (turn) => [[call('find', { name: `m${turn}` })], [call('draw', { name: `m${turn}` })]],
  asker: () => [[call('ask', {})]],
}
const SESSIONS = Object.keys(PLANS).filter((name) => !['looker', 'asker'].includes(name))
/**
 * Text that the last requests of each session must contain. This text proves that the session has reached the state
 * under test.
 */
const SHOWN: { readonly [name: string]: string } = {
  tools: 'the caller says',
  images: 'photo',
  noted: 'no longer available',
  sources: 'not cited, left out',
  consolidated: '<conversation_summary>',
  team: 'all of looker',
}

const AGENTS = {
  tools: {},
  images: { policies: { images: { reattach: 2 } } },
  noted: {},
  sources: { policies: { sources: 'cited' } },
  consolidated: { policies: { consolidation: { threshold: 2, keep_recent_ratio: 0.5 }, sources: 'cited' } },
  team: { members: ['looker', 'asker'] },
  looker: {},
  asker: {},
}

/**
 * A model without memory: the same request gets the same completion. Text precedes every call, and follows the last
 * call.
 */
function model({ messages }: ChatRequest): OpenAiStep {
  const name = nameOf(messages)
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const input = JSON.stringify(messages[last])
  const turn = /(\d)/.exec(input)?.[1] ?? ''
  const round = messages.slice(last).filter(({ role }) => role === 'assistant').length
  const batch = input.includes('<conversation>') ? undefined : PLANS[name]?.(turn)[round]
  const numbers = [...JSON.stringify(messages).matchAll(/\[source(\d+)\]/g)].map(([, number]) => Number(number))
  const cites = name === 'sources' ? ` as [source${Math.max(...numbers)}] says` : ''
  const calls = (batch ?? []).map(([tool, given], place): ScriptedPart => ({
    type: 'tool_call',
    id: `call-${round}-${place}`,
    name: tool,
    arguments: JSON.stringify(given),
  }))
  const text = batch === undefined ? `all of ${name}${cites}` : `round ${round}`
  return { completion: { parts: [{ type: 'text', text }, ...calls] } }
}

/** Returns the agent of a request: its system text begins with the name. Requests for summaries have a separate text. */
function nameOf([first]: ChatRequest['messages']): string {
  const text = first?.role === 'system' ? first.content : ''
  return /^I am (\w+)\./.exec(text)?.[1] ?? 'summary'
}

/** Replaces ids, the only part of a request that differs between two places. */
function comparable(request: ChatRequest): string {
  const names = new Map<string, string>()
  return JSON.stringify(request).replace(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g, (id) => {
    const name = names.get(id) ?? `id${names.size}`
    names.set(id, name)
    return name
  })
}

const image = { type: 'image', media_type: 'image/png', filename: 'photo.png', data: drawn('photo').toString('base64') }

/** Answers the waiting calls of each session, then sends one input. */
async function cycle(client: Client, turn: number): Promise<void> {
  for (const session of SESSIONS) {
    const base = `/v1/sessions/${session}`
    if (turn === 0) await client.post('/v1/sessions', { id: session, agent: session })
    const { run } = await client.get<{ run: RunBody | null }>(base)
    if (run?.status === 'paused') {
      const { waiting } = await client.get<RunBody>(`${base}/runs/${run.id}`)
      const results = waiting.map(({ tool_call_id, message_id }) => ({
        ...{ tool_call_id, message_id },
        output: `the caller says ${turn}`,
      }))
      const resumed = await client.post<RunBody>(`${base}/runs/${run.id}/tool-results`, { results })
      expect(resumed, session).toMatchObject({ status: 'completed' })
    }
    const content = [{ type: 'text', text: `input ${turn}` }, ...(session === 'images' ? [image] : [])]
    const started = await client.post<RunBody>(`${base}/messages`, { content, tools: [ASK] })
    expect(started, session).toMatchObject({ status: ['tools', 'team'].includes(session) ? 'paused' : 'completed' })
  }
}

/**
 * Tests sessions that new processes continue three times. The model gets the same requests for these sessions as for sessions
 * whose process never stopped.
 */
export const newProcessesOn = (backend: Backend) =>
  describe(`sessions continued by new processes, on ${backend.name}`, () => {
    let folder: string
    const places: Place[] = []
    const servers: OpenAiServer[] = []
    const programs: RunningProgram[] = []

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'tooltrail-new-'))
      const agents = Object.entries(AGENTS).map(([name, more]) => [
        name,
        { instructions: `I am ${name}.`, tools: ['draw', 'find'], ...more },
      ])
      const none = { default: { tools: [] } }
      const file = { agents: { ...none, ...(Object.fromEntries(agents) as object) } }
      await writeFile(join(folder, 'agents.json'), JSON.stringify(file))
    })
    afterEach(async () => {
      await Promise.all(programs.splice(0).map((program) => program.kill()))
      await Promise.all(places.splice(0).map((place) => place.remove()))
      await Promise.all(servers.splice(0).map((server) => server.close()))
      await rm(folder, { recursive: true, force: true })
    })

    /** Returns the requests of the last cycle, by session. With `restarts`, each cycle has a separate process. */
    async function lastRequests(restarts: boolean): Promise<Map<string, string[]>> {
      const [place, server] = [await backend.open(), await startOpenAiServer(model)]
      places.push(place)
      servers.push(server)
      const files = { TOOLTRAIL_AGENTS: join(folder, 'agents.json'), TOOLTRAIL_TOOLS: 'test/fixtures/own-tools.ts' }
      const env = { ...place.env, MODEL: 'scripted', MODEL_BASE_URL: server.baseUrl, ...files }
      let program: RunningProgram | undefined
      let before = 0
      for (let turn = 0; turn < CYCLES; turn++) {
        if (program === undefined || restarts) {
          await program?.kill('SIGTERM')
          program = await startProgram({ env })
          programs.push(program)
        }
        before = server.requests.length
        await cycle(program.client, turn)
      }
      const sent = Map.groupBy(server.bodies().slice(before), ({ messages }) => nameOf(messages))
      return new Map([...sent].map(([name, requests]) => [name, requests.map(comparable)]))
    }

    test('send the same requests as without restarts, byte for byte except ids', async () => {
      const [restarted, steady] = await Promise.all([lastRequests(true), lastRequests(false)])
      for (const [name, shown] of Object.entries(SHOWN)) expect(restarted.get(name)?.join('\n'), name).toContain(shown)
      expect([...restarted.keys()].toSorted()).toEqual([...Object.keys(PLANS), 'summary'].toSorted())
      for (const [name, requests] of steady) expect(restarted.get(name), name).toEqual(requests)
    })
  })
