import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChatRequest } from '../model-server/openai-server.ts'
import { startOpenAiServer } from '../model-server/openai-server.ts'
import type { ScriptedCompletion } from '../model-server/scripted-completion.ts'
import type { Client, Message, RunBody } from './backend/client.ts'
import { startProgram } from './backend/program.ts'

/** The running program on an empty data folder, with a scripted model server for Chat Completions. */
export interface ScriptedProgram {
  readonly client: Client
  readonly folder: string
  /** Replaces the completions to come, and forgets the requests so far. */
  play(...completions: readonly ScriptedCompletion[]): void
  /** The bodies that the model server received since the last `play`. */
  requests(): readonly { readonly body: ChatRequest; readonly text: string }[]
  newSession(agent?: string): Promise<string>
  /** Sends an input and waits for the end, or a pause, of its run. */
  ask(session: string, content: string, more?: object): Promise<RunBody>
  /** The tool results of a session. */
  results(session: string): Promise<Message[]>
  /** Runs `tooltrail` against the program and its data folder; returns what it wrote. */
  command(...words: readonly string[]): Promise<string>
  close(): Promise<void>
}

interface ScriptedProgramSettings {
  /** The content of agents.json. */
  readonly agents?: object
  readonly env?: Readonly<Record<string, string>>
  /** Returns the model server's reason to refuse a request with 400. */
  readonly refuse?: (request: ChatRequest) => string | undefined
}

const DONE: ScriptedCompletion = { parts: [{ type: 'text', text: 'done' }] }

export async function startScriptedProgram(settings: ScriptedProgramSettings = {}): Promise<ScriptedProgram> {
  let completions: ScriptedCompletion[] = []
  let played = 0
  const model = await startOpenAiServer((request) => {
    const message = settings.refuse?.(request)
    if (message !== undefined) return { status: 400, body: { error: { message, type: 'invalid_request_error' } } }
    return { completion: completions.shift() ?? DONE }
  })
  const folder = await mkdtemp(join(tmpdir(), 'tooltrail-'))
  const program = await startProgram({
    env: {
      TOOLTRAIL_DATA: folder,
      MODEL: 'scripted',
      MODEL_BASE_URL: model.baseUrl,
      ...(await agentsFile(folder, settings.agents)),
      ...settings.env,
    },
  })
  const { client } = program
  return {
    client,
    folder,
    play(...next) {
      completions = [...next]
      played = model.requests.length
    },
    requests: () =>
      model.requests.slice(played).map(({ body }) => ({ body: JSON.parse(body) as ChatRequest, text: body })),
    newSession: async (agent = 'default') => (await client.post<{ id: string }>('/v1/sessions', { agent })).id,
    ask: (session, content, more = {}) =>
      client.post(`/v1/sessions/${session}/messages`, { content, ...more }, { prefer: 'wait=60' }),
    results: async (session) => (await client.messages(session)).filter(({ role }) => role === 'tool'),
    command: (...words) => runCommand({ TOOLTRAIL_URL: client.url, TOOLTRAIL_DATA: folder }, words),
    async close() {
      await program.kill()
      await model.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function agentsFile(folder: string, agents: object | undefined): Promise<Record<string, string>> {
  if (agents === undefined) return {}
  const path = join(folder, 'agents.json')
  await writeFile(path, JSON.stringify(agents))
  return { TOOLTRAIL_AGENTS: path }
}

async function runCommand(env: Readonly<Record<string, string>>, words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, ['scripts/tooltrail.mjs', ...words], {
    env: { ...process.env, ...env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return out + error
}
