import { is } from './checks.mjs'

let base = ''
/** Sets the address of the program to which these functions send requests. */
export const useApi = (address) => {
  base = address
}

/** Sends a request to the program's API. Returns the response's status, JSON and headers. */
export const call = async (method, path, body, headers = {}) => {
  const r = await fetch(base + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await r.text()
  let json
  try {
    json = JSON.parse(text)
  } catch {
    json = text
  }
  return { status: r.status, body: json, headers: r.headers }
}
export const ok = (r, ...status) => {
  is(
    (status.length ? status : [200, 201, 202]).includes(r.status),
    `${r.status} ${JSON.stringify(r.body).slice(0, 300)}`,
  )
  return r.body
}
export const session = async (body = {}) => ok(await call('POST', '/v1/sessions', body)).id
export const say = async (id, content, more = {}, headers) =>
  ok(await call('POST', `/v1/sessions/${id}/messages`, { content, ...more }, headers))
export const log = async (id, query = '') => ok(await call('GET', `/v1/sessions/${id}/messages?limit=200${query}`)).data
export const texts = (messages) => messages.map((m) => `${m.role}: ${m.parts.map((p) => p.text ?? '').join('')}`)
export const turn = (n) => [
  { role: 'user', content: `q${n}` },
  { role: 'assistant', content: `a${n}` },
]
export const imported = async (id, messages, query = '') =>
  ok(await call('POST', `/v1/sessions/${id}/import${query}`, { format: 'openai', messages }))

export const NEVER = 'the log only grows: messages are not changed or deleted one by one'
export const NOT = 'not offered'
