/*
 * A scripted model server. It obeys the newest message of the user, so that order, retries and concurrency do not matter:
 *
 * - `!call NAME {json}`, one on each line: calls these tools. After their results, the text is "done: <results>".
 * - `!then NAME {json}`: calls that tool after the results of the `!call` lines.
 * - `!slow N`: N words, one every 50 ms. `!fail`: HTTP 400. `!think`: reasoning first.
 * - `!who`: the model returns its instructions and tools, also after results.
 * - "weather" or "handoff", with a tool that has this word in its name: calls it with made-up arguments.
 * - A tool for structured answers (`answerTools`): calls it.
 * - A request for JSON: made-up values that fit the schema.
 * - Anything else: "heard <messages without system>: <text>".
 */
import { createServer } from 'node:http'
import { argument, sleep } from './options.mjs'

const textOf = (c) =>
  c === null || c === undefined ? '' : typeof c === 'string' ? c : c.map((p) => p.text ?? '').join('')

const fake = (schema, name = '') => {
  const type = [schema?.type].flat()[0]
  if (schema?.enum) return schema.enum[0]
  if (schema?.const !== undefined) return schema.const
  if (type === 'object' || schema?.properties)
    return Object.fromEntries(
      Object.entries(schema.properties ?? {})
        .filter(([k]) => (schema.required ?? []).includes(k))
        .map(([k, v]) => [k, fake(v, k)]),
    )
  if (type === 'array') return [fake(schema.items ?? {}, name)]
  if (type === 'integer' || type === 'number') return 7
  if (type === 'boolean') return true
  if (type === 'null') return null
  return /city|location/i.test(name) ? 'San Francisco, CA' : `some ${name || 'text'}`
}
/** Returns the first JSON Schema of an object in a text. */
function schemaIn(text) {
  for (let start = text.indexOf('{'); start >= 0; start = text.indexOf('{', start + 1)) {
    let depth = 0
    for (let end = start; end < text.length; end++) {
      depth += text[end] === '{' ? 1 : text[end] === '}' ? -1 : 0
      if (depth > 0) continue
      try {
        const value = JSON.parse(text.slice(start, end + 1))
        if (value.properties) return value
      } catch {
        // The text in these braces is not JSON.
      }
      break
    }
  }
  return undefined
}

/** Returns an answer in the format that the request asks for; undefined if it asks for text. */
function formatted({ response_format: format, messages = [] }) {
  const text = messages.map((message) => textOf(message.content)).join('\n')
  if (format === undefined && !text.includes('must be JSON')) return undefined
  const schema = format?.json_schema?.schema ?? schemaIn(text)
  return JSON.stringify(schema === undefined ? { city: 'San Francisco, CA', degrees: 7 } : fake(schema))
}

const answerTools = /^(final_result|final_answer|Answer|User|Person|UserInfo|return_.*|json_tool_call|submit_.*)$/
export async function scriptedModel() {
  const requests = []
  const server = createServer((req, res) => {
    const chunks = []
    req
      .on('data', (c) => chunks.push(c))
      .on('end', async () => {
        let body
        try {
          body = JSON.parse(Buffer.concat(chunks))
        } catch {
          return res.writeHead(400).end('{}')
        }
        requests.push(body)
        const list = (body.messages ?? []).filter((m) => m.role !== 'system' && m.role !== 'developer')
        const at = list.findLastIndex((m) => m.role === 'user' && !/^\s*<system_note>/.test(textOf(m.content)))
        const said = textOf(list[at]?.content),
          last = list.at(-1),
          n = requests.length
        if (/^!fail/m.test(said))
          return res
            .writeHead(400, { 'content-type': 'application/json' })
            .end(JSON.stringify({ error: { message: 'the model refused', type: 'invalid_request_error' } }))
        const since = list.slice(at + 1),
          rounds = since.filter((m) => m.role === 'assistant').length
        const lines = (mark) =>
          [...said.matchAll(new RegExp(`^!${mark} (\\S+) (\\{.*\\})\\s*$`, 'gm'))].map(([, name, args]) => ({
            name,
            args,
          }))
        const tools = (body.tools ?? []).map((t) => t.function).filter(Boolean)
        let calls = last?.role === 'tool' ? (rounds === 1 ? lines('then') : []) : lines('call')
        if (!calls.length && last?.role !== 'tool' && body.tool_choice !== 'none') {
          const wanted =
            tools.find(
              (t) =>
                (/weather/i.test(said) && /weather/i.test(t.name)) ||
                (/transfer|handoff|hand off/i.test(said) && /transfer|handoff/i.test(t.name)),
            ) ?? (said.startsWith('!') ? undefined : tools.find((t) => answerTools.test(t.name)))
          if (wanted) calls = [{ name: wanted.name, args: JSON.stringify(fake(wanted.parameters)) }]
        } else if (!calls.length && last?.role === 'tool' && rounds < 4 && !said.startsWith('!')) {
          const wanted = tools.find((t) => answerTools.test(t.name))
          if (wanted && !since.some((m) => m.tool_calls?.some((c) => c.function.name === wanted.name)))
            calls = [{ name: wanted.name, args: JSON.stringify(fake(wanted.parameters)) }]
        }
        calls = calls.map((c, i) => ({ ...c, id: `call_${n}_${i}` }))
        const words = /^!slow (\d+)/m.exec(said)
        const results = since
          .filter((m) => m.role === 'tool')
          .map((m) => textOf(m.content))
          .join(' | ')
        const pieces = calls.length
          ? []
          : words
            ? Array.from({ length: Number(words[1]) }, (_, i) => `word${i} `)
            : last?.role === 'tool'
              ? ['done: ', results.slice(0, 400)]
              : [`heard ${list.length}: `, said.slice(0, 300)]
        const answer = calls.length ? undefined : formatted(body)
        if (answer !== undefined) pieces.splice(0, pieces.length, answer)
        if (/!who/.test(said) && !calls.length)
          pieces.splice(
            0,
            pieces.length,
            `instructions: ${(body.messages ?? [])
              .filter((m) => m.role === 'system' || m.role === 'developer')
              .map((m) => textOf(m.content))
              .join(
                ' | ',
              )}; tools: ${tools.map((t) => t.name).join(' ')}; choice: ${JSON.stringify(body.tool_choice)}; messages: ${list.length}`,
          )
        const usage = {
          prompt_tokens: 11,
          completion_tokens: 7,
          total_tokens: 18,
          prompt_tokens_details: { cached_tokens: 3 },
          completion_tokens_details: { reasoning_tokens: 2 },
        }
        const base = { id: `chatcmpl-${n}`, object: 'chat.completion.chunk', created: 1, model: body.model }
        const finish = calls.length ? 'tool_calls' : 'stop'
        if (!body.stream)
          return res.writeHead(200, { 'content-type': 'application/json' }).end(
            JSON.stringify({
              ...base,
              object: 'chat.completion',
              usage,
              choices: [
                {
                  index: 0,
                  finish_reason: finish,
                  message: {
                    role: 'assistant',
                    content: pieces.join('') || null,
                    ...(calls.length
                      ? {
                          tool_calls: calls.map((c) => ({
                            id: c.id,
                            type: 'function',
                            function: { name: c.name, arguments: c.args },
                          })),
                        }
                      : {}),
                  },
                },
              ],
            }),
          )
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        const send = (delta, finish_reason = null) =>
          res.write(`data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason }] })}\n\n`)
        send({ role: 'assistant', content: '' })
        if (/^!think/m.test(said)) for (const t of ['let me ', 'think']) send({ reasoning_content: t })
        for (const p of pieces) {
          if (res.destroyed) return
          send({ content: p })
          if (words) await sleep(50)
        }
        calls.forEach((c, index) => {
          send({ tool_calls: [{ index, id: c.id, type: 'function', function: { name: c.name, arguments: '' } }] })
          const half = Math.ceil(c.args.length / 2)
          for (const piece of [c.args.slice(0, half), c.args.slice(half)])
            send({ tool_calls: [{ index, function: { arguments: piece } }] })
        })
        send({}, finish)
        res.write(`data: ${JSON.stringify({ ...base, choices: [], usage })}\n\n`)
        res.end('data: [DONE]\n\n')
      })
  })
  const port = Number(argument('model-port', 0))
  await new Promise((r) => server.listen(port, '127.0.0.1', r))
  return {
    requests,
    url: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
