// Measures a bare Hono server. For each request, it sends CALLS model requests with fetch, and makes COMMITS commits.
import { createRequire } from 'node:module'
import path from 'node:path'
const root = (process.env.TOOLTRAIL ?? path.resolve(import.meta.dirname, '../..'))
const { Hono } = await import(root + '/node_modules/hono/dist/index.js')
const { serve } = await import(root + '/node_modules/@hono/node-server/dist/index.mjs')
const { DatabaseSync } = await import('node:sqlite')
const db = new DatabaseSync(path.join(process.env.TOOLTRAIL_DATA, 'f.db'))
db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE m(id INTEGER PRIMARY KEY, s TEXT, t TEXT)')
const put = db.prepare('INSERT INTO m(s,t) VALUES (?,?)')
const CALLS = Number(process.env.CALLS ?? 1), COMMITS = Number(process.env.COMMITS ?? 2)
const app = new Hono()
app.post('/v1/sessions', (c) => c.json({ id: 's' + Math.random() }))
app.post('/v1/sessions/:id/messages', async (c) => {
  const { content } = await c.req.json()
  const messages = [{ role: 'user', content }]
  let text = ''
  const per = Math.ceil(COMMITS / CALLS)
  for (let i = 0; i < CALLS; i++) {
    const r = await fetch(process.env.MODEL_BASE_URL + '/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'm', stream: true, messages, tools: i < CALLS - 1 ? [{}] : [] }) })
    text = await r.text()
    for (let k = 0; k < per; k++) put.run(c.req.param('id'), text)
    messages.push({ role: 'tool', content: 'x'.repeat(2048) })
  }
  return c.json({ status: 'completed', text })
})
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, (i) => console.log('http://127.0.0.1:' + i.port))
