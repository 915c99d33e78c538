import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { drawn } from '../../fixtures/png.ts'
import type { ChatRequest, OpenAiServer, OpenAiStep } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { Backend, Place } from '../backend/backend.ts'
import type { Client, RunBody, SearchHit } from '../backend/client.ts'
import { onceFound } from '../backend/backend.ts'
import type { RunningProgram } from '../backend/program.ts'
import { startProgram } from '../backend/program.ts'

const PDF = Buffer.concat([Buffer.from('%PDF-1.7\n'), drawn('paper')])
/** Media of a user, of our tools and of the caller's tools, by name. */
const MEDIA: ReadonlyMap<string, Buffer> = new Map([
  ['photo.png', drawn('photo')],
  ['paper.pdf', PDF],
  ['drawing.png', drawn('drawing')],
  ['scan.png', drawn('scan')],
])
const SCAN = { name: 'scan', description: 'scans', parameters: { type: 'object' } }
const part = (filename: string): object => {
  const [type, media_type] = filename.endsWith('.pdf') ? ['file', 'application/pdf'] : ['image', 'image/png']
  return { type, media_type, filename, data: MEDIA.get(filename)?.toString('base64') }
}

/** A scripted model. It calls each media tool once if the input asks for it. Its refusals quote the messages of the request. */
function model({ messages }: ChatRequest): OpenAiStep {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const input = JSON.stringify(messages[last])
  const refusal = { body: { error: { message: `no: ${JSON.stringify(messages)}` } } }
  // After status 404, the loop tries no other form of the request.
  if (input.includes('refuse this')) return { status: 404, ...refusal }
  if (input.includes('refuse media') && input.includes('"image_url"')) return { status: 400, ...refusal }
  if (!input.includes('draw and scan') || messages.length > last + 1)
    return { completion: { parts: [{ type: 'text', text: 'seen' }] } }
  const calls = [
    { type: 'tool_call', id: 'c0', name: 'draw', arguments: '{"name":"drawing"}' },
    { type: 'tool_call', id: 'c1', name: 'scan', arguments: '{}' },
  ] as const
  return { completion: { parts: [{ type: 'text', text: 'I look' }, ...calls] } }
}

/** Names of the media whose bytes a value contains. Throws if a value contains neither bytes nor a link to them. */
async function bytesIn(client: Client, value: unknown): Promise<string[]> {
  const names: string[] = []
  const nameOf = (bytes: Buffer, said: unknown): string => {
    const name = [...MEDIA].find(([, one]) => one.equals(bytes))?.[0]
    if (name === undefined) throw new Error(`no bytes of ours: ${JSON.stringify(said).slice(0, 300)}`)
    return name
  }
  async function look(one: unknown): Promise<void> {
    if (typeof one !== 'object' || one === null) return
    if (Array.isArray(one)) {
      for (const inner of one) await look(inner)
      return
    }
    const found = one as {
      type?: string
      url?: string
      data?: string
      image_url?: { url: string }
      file?: { file_data: string }
    }
    const isMedia = ['image', 'file', 'image_url'].includes(found.type ?? '')
    if (!isMedia) {
      for (const inner of Object.values(one)) await look(inner)
      return
    }
    const at = found.image_url?.url ?? found.file?.file_data ?? found.url
    if (found.data !== undefined) names.push(nameOf(Buffer.from(found.data, 'base64'), one))
    else if (at?.startsWith('data:') === true)
      names.push(nameOf(Buffer.from(at.slice(at.indexOf(',') + 1), 'base64'), one))
    else {
      const response = await fetch(`${client.url}${at}`)
      names.push(nameOf(Buffer.from(await response.arrayBuffer()), one))
    }
  }
  await look(value)
  return names.toSorted()
}

/** Finds parts of the media in a text: base64 in both alphabets, hexadecimal, and raw bytes. */
function traces(text: string): string[] {
  const found: string[] = []
  for (const [name, bytes] of MEDIA)
    for (let at = 120; at + 24 <= bytes.length; at += 1_200) {
      const piece = bytes.subarray(at, at + 24)
      // Base64 encodes three bytes at a time. `at` is a multiple of three, so the encoded file contains the encoded piece.
      for (const encoded of [
        piece.toString('base64'),
        piece.toString('base64url'),
        piece.toString('hex'),
        piece.toString('latin1'),
      ])
        if (text.includes(encoded)) found.push(`${name} at ${at}: ${encoded}`)
    }
  return found
}

const lines = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)

/**
 * Tests that no row, log line or index document contains bytes of media. A client that restores a session gets the bytes of
 * each medium, a link to them, or a note.
 */
export const mediaOn = (backend: Backend) =>
  describe(`media, on ${backend.name}`, () => {
    let server: OpenAiServer
    let place: Place
    let folder: string
    const programs: RunningProgram[] = []

    beforeEach(async () => {
      server = await startOpenAiServer(model)
      place = await backend.open()
      folder = await mkdtemp(join(tmpdir(), 'tooltrail-media-'))
      const agent = { tools: ['draw', 'search_history', 'read_output'] }
      const agents = { default: agent, keeper: { ...agent, policies: { images: { reattach: 9 } } } }
      await writeFile(join(folder, 'agents.json'), JSON.stringify({ agents }))
    })
    afterEach(async () => {
      await Promise.all(programs.splice(0).map((program) => program.kill()))
      await Promise.all([place.remove(), server.close(), rm(folder, { recursive: true, force: true })])
    })

    async function start(): Promise<RunningProgram> {
      const settings = { MODEL: 'scripted', MODEL_BASE_URL: server.baseUrl, LOG_LEVEL: 'debug' }
      const files = { TOOLTRAIL_AGENTS: join(folder, 'agents.json'), TOOLTRAIL_TOOLS: 'test/fixtures/own-tools.ts' }
      const program = await startProgram({ env: { ...place.env, ...settings, ...files } })
      programs.push(program)
      return program
    }

    async function turn(client: Client, session: string): Promise<void> {
      const base = `/v1/sessions/${session}`
      const content = [{ type: 'text', text: 'draw and scan' }, part('photo.png'), part('paper.pdf')]
      const run = await client.post<RunBody>(`${base}/messages`, { content, tools: [SCAN] })
      expect(run).toMatchObject({ status: 'paused', waiting: [{ tool_name: 'scan' }] })
      const output = [{ type: 'text', text: 'scanned' }, part('scan.png')]
      const results = [{ tool_call_id: 'c1', message_id: run.waiting[0]?.message_id, output }]
      expect(await client.post(`${base}/runs/${run.id}/tool-results`, { results })).toMatchObject({
        status: 'completed',
      })
      const refused = await client.post<RunBody>(`${base}/messages`, {
        content: [{ type: 'text', text: 'refuse this' }, part('photo.png')],
      })
      expect(refused).toMatchObject({ status: 'failed' })
    }

    /** Executes a turn whose input the model accepts only without the image. */
    async function repairedTurn(client: Client): Promise<void> {
      await client.post('/v1/sessions', { id: 'repaired', agent: 'keeper' })
      const content = [{ type: 'text', text: 'refuse media' }, part('photo.png')]
      const run = await client.post<RunBody>('/v1/sessions/repaired/messages', { content })
      expect(run).toMatchObject({ status: 'completed' })
      expect(await bytesIn(client, server.bodies().at(-2)?.messages)).toEqual(['photo.png'])
      expect(await bytesIn(client, server.bodies().at(-1)?.messages)).toEqual([])
    }

    const say = async (client: Client, session: string): Promise<ChatRequest | undefined> => {
      await client.post<RunBody>(`/v1/sessions/${session}/messages`, { content: 'go on' })
      return server.bodies().at(-1)
    }

    test('appear in no row, log line or index document, and are returned unchanged in every format', async () => {
      const first = await start()
      for (const agent of ['default', 'keeper']) {
        await first.client.post('/v1/sessions', { id: agent, agent })
        await turn(first.client, agent)
      }
      await repairedTurn(first.client)
      const sent = server.bodies()[0]
      expect(await bytesIn(first.client, sent?.messages)).toEqual(['paper.pdf', 'photo.png'])
      await first.kill('SIGTERM')
      const next = await start()
      const { client } = next
      const base = '/v1/sessions/default'
      const all = ['drawing.png', 'paper.pdf', 'photo.png', 'photo.png', 'scan.png']

      expect(await bytesIn(client, await client.messages('default')), 'native').toEqual(all)
      const exported = async (query: string): Promise<string> =>
        (await fetch(`${client.url}${base}/export${query}`)).text()
      expect(await bytesIn(client, lines(await exported(''))), 'export').toEqual(all)
      expect(await bytesIn(client, lines(await exported('?outputs=pointer'))), 'export of pointers').toEqual(all)
      for (const [name, text] of [
        ['openai', await exported('?format=openai')],
        ['markdown', await exported('?format=markdown')],
      ] as const) {
        expect(traces(text), name).toEqual([])
        for (const file of MEDIA.keys()) expect(text, name).toContain(file)
      }
      // A client may still continue the run of the refused input.
      expect(await bytesIn(client, lines(await exported('?format=openai'))), 'openai').toEqual(['photo.png'])

      expect(await bytesIn(client, await client.get('/v1/sessions/keeper/messages?format=openai&limit=99'))).toEqual([
        ...['paper.pdf', 'photo.png', 'photo.png'],
      ])
      expect(await bytesIn(client, await client.get('/v1/sessions/keeper/context'))).toEqual([
        'paper.pdf',
        'photo.png',
        'photo.png',
      ])
      expect(await bytesIn(client, await say(client, 'keeper')), 'sent again').toEqual([
        'paper.pdf',
        'photo.png',
        'photo.png',
      ])
      expect(await bytesIn(client, await client.messages('repaired')), 'refused media').toEqual(['photo.png'])
      expect(await bytesIn(client, await say(client, 'repaired')), 'not sent again').toEqual([])
      const noted = await say(client, 'default')
      expect(await bytesIn(client, noted), 'noted').toEqual([])
      expect(JSON.stringify(noted)).toContain('photo.png, paper.pdf')

      await onceFound(backend, async () => {
        const { data } = await client.get<{ data: SearchHit[] }>('/v1/search?session=default&q=scanned')
        expect(data.length).toBeGreaterThan(0)
      })
      let texts = 0
      for await (const text of place.texts()) {
        texts++
        expect(traces(text), text.slice(0, 300)).toEqual([])
      }
      expect(texts).toBeGreaterThan(20)
      for (const program of [first, next]) expect(traces(program.log())).toEqual([])
      expect(first.log()).toContain('the model failed')
    })
  })
