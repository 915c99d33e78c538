// Uses Tooltrail through its HTTP API. The program of `npm start` is a separate process. This process contains the
// caller and an OpenAI-compatible model server. TOOLTRAIL is the program's folder, after `npm ci`. Run this file with
// the program's Node.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { main, plan } from '../common.mjs'

const root = (process.env.TOOLTRAIL ?? path.resolve(import.meta.dirname, '../../..'))
const shape = (m) => ({ role: m.role, text: typeof m.content === 'string' ? m.content : (m.content ?? []).map((p) => p.text ?? '').join(''), calls: (m.tool_calls ?? []).map((c) => c.id), answers: m.tool_call_id })
const model = http.createServer(async (request, response) => {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  const { messages, stream, tools = [] } = JSON.parse(Buffer.concat(pieces))
  // A request without tools asks for a summary.
  const { text, calls } = tools.length === 0 ? { text: 'a summary', calls: [] } : plan(messages.filter((m) => m.role !== 'system' && m.role !== 'developer').map(shape))
  const toolCalls = calls.map(({ id, name, args }, index) => ({ ...(stream && { index }), id, type: 'function', function: { name, arguments: JSON.stringify(args) } }))
  const message = { role: 'assistant', content: calls.length ? '' : text, ...(calls.length && { tool_calls: toolCalls }) }
  const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
  const finish_reason = calls.length ? 'tool_calls' : 'stop'
  if (!stream) return response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, message, finish_reason }], usage }))
  response.setHeader('content-type', 'text/event-stream')
  const send = (data) => response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', ...data })}\n\n`)
  send({ choices: [{ index: 0, delta: message, finish_reason: null }] })
  send({ choices: [{ index: 0, delta: {}, finish_reason }] })
  send({ choices: [], usage })
  response.end('data: [DONE]\n\n')
})
await new Promise((resolve) => model.listen(0, '127.0.0.1', resolve))

const programs = new Map()
async function start(dir) {
  if (programs.has(dir)) return programs.get(dir)
  const data = path.resolve(dir, 'data')
  fs.mkdirSync(data, { recursive: true })
  const agents = path.resolve(dir, 'agents.json')
  fs.writeFileSync(agents, JSON.stringify({ agents: { default: { tools: ['work', 'big', 'pay'] } } }))
  const child = spawn(process.execPath, ['--import', './scripts/require-node.mjs', '--max-semi-space-size=8', 'functions/handlers/local.ts'], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PORT: '0', LOG_LEVEL: 'silent', TOOLTRAIL_DATA: data, TOOLTRAIL_AGENTS: agents, TOOLTRAIL_TOOLS: path.join(import.meta.dirname, 'tools.ts'), MODEL: 'scripted', MODEL_BASE_URL: `http://127.0.0.1:${model.address().port}/v1`, MODEL_API_KEY: 'x', BENCH_EFFECTS: path.resolve(dir) } })
  const url = await new Promise((resolve, reject) => {
    let reported = ''
    child.stdout.on('data', (piece) => { reported += piece; const found = /http:\/\/[\d.]+:\d+/.exec(reported); if (found) resolve(found[0]) })
    child.once('exit', (code) => reject(new Error(`the program ended with ${code}: ${reported}`)))
  })
  process.once('exit', () => child.kill('SIGKILL'))
  const program = { url, child }
  programs.set(dir, program)
  return program
}
async function open({ dir, session }) {
  const { url, child } = await start(dir)
  const api = async (method, where, body) => {
    const response = await fetch(`${url}/v1${where}`, { method, ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }) })
    const text = await response.text()
    if (!response.ok) throw Object.assign(new Error(`${response.status} ${text.slice(0, 150)}`), { status: response.status })
    return text === '' ? undefined : JSON.parse(text)
  }
  const at = `/sessions/${session}`
  /** Reads the whole text of an offloaded result. The preview has the pointer to this text. */
  const whole = async (m) => {
    const id = /\[Full output: output:(\w+)/.exec(shape(m).text)?.[1]
    const response = id && (await fetch(`${url}/v1${at}/messages/${id}/output`))
    return response?.ok ? { text: await response.text() } : {}
  }
  await api('POST', '/sessions', { id: session, agent: 'default' }).catch((error) => { if (error.status !== 409) throw error })
  return {
    async turn(text) {
      const run = await api('POST', `${at}/messages`, { content: text })
      if (run.status !== 'completed') throw new Error(`the run is ${run.status}: ${JSON.stringify(run.error ?? '').slice(0, 120)}`)
    },
    settle: async () => void (await api('GET', '/search?q=anything')),
    async messages() {
      const all = []
      for (let after; ;) {
        const page = await api('GET', `${at}/messages?format=openai&limit=200&order=asc${after ? `&after=${encodeURIComponent(after)}` : ''}`)
        all.push(...(await Promise.all(page.data.map(async (m) => ({ ...shape(m), ...(await whole(m)) })))))
        after = page.next
        if (!page.has_more) return all.filter((m) => m.role !== 'system')
      }
    },
    async resume() {
      const begun = performance.now()
      for (let wait = 0; wait < 700; wait++) {
        const { data } = await api('GET', `${at}/runs?limit=20`)
        if (process.env.DEBUG_BENCH) console.error(Math.round(performance.now() - begun), data.map((run) => run.status).join(','))
        if (data.every((run) => !['running', 'queued'].includes(run.status))) return `by itself in ${((performance.now() - begun) / 1000).toFixed(1)} s: ${data.map((run) => run.status).join(', ')}`
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      return 'still running after 70 s'
    },
    remove: () => api('DELETE', at),
    close: async () => { if (child.exitCode === null && child.signalCode === null) { child.kill('SIGTERM'); await new Promise((resolve) => child.once('exit', resolve)) } },
    /** Returns the processor time of the program, without that of this process. */
    cpuMs: () => { const fields = fs.readFileSync(`/proc/${child.pid}/stat`, 'utf8').replace(/^.*\)/s, '').trim().split(' '); return (Number(fields[11]) + Number(fields[12])) * 10 },
    peakMb: () => Math.round(Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024),
  }
}
await main({ open })
