// Tests Codex CLI (@openai/codex as published) with /openai/v1 as its model provider: a turn, a shell call, and a
// resumed session. Each check runs twice: directly (`as it is`), and through a proxy. From the requests, the proxy
// removes all tools that are not functions, to show whether the rest works.
import { createServer } from 'node:http'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { homedir } from 'node:os'
import { check, finish, is } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { freePort, nodeOf, run } from '../lib/options.mjs'
import { npmPackages, npmVersions } from '../lib/packages.mjs'
import { program } from '../lib/program.mjs'
const dir = npmPackages('codex', ['@openai/codex'])
console.log(npmVersions(dir, ['@openai/codex']))
const model = await scriptedModel(),
  served = await program({ model }),
  port = await freePort()
const left = new Set()
const proxy = createServer(async (req, res) => {
  const chunks = []
  for await (const c of req) chunks.push(c)
  const body = JSON.parse(Buffer.concat(chunks))
  for (const t of body.tools ?? []) if (t.type !== 'function') left.add(`${t.type} ${t.name ?? ''}`)
  const r = await fetch(served.base + req.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, tools: body.tools?.filter((t) => t.type === 'function') }),
  })
  res.writeHead(r.status, { 'content-type': r.headers.get('content-type') }).end(await r.text())
})
await new Promise((r) => proxy.listen(port, '127.0.0.1', r))
const home = mkdtempSync(join(homedir(), '.codex-conformance-')),
  work = join(home, 'work')
mkdirSync(work)
const codex = (...words) =>
  run(nodeOf, [join(dir, 'node_modules/@openai/codex/bin/codex.js'), 'exec', ...words], {
    cwd: work,
    env: { CODEX_HOME: home },
    limit: 90_000,
  })
for (const [how, base] of [
  ['as it is', served.base],
  ['without tools that are no functions', `http://127.0.0.1:${port}`],
]) {
  writeFileSync(
    join(home, 'config.toml'),
    `model = "bare"\nmodel_provider = "tt"\ncheck_for_update_on_startup = false\nweb_search = "disabled"\n[analytics]\nenabled = false\n[model_providers.tt]\nname = "tt"\nbase_url = "${base}/openai/v1"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n`,
  )
  const flags = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
  await check(
    `${how}: a turn`,
    async () => {
      const r = await codex(...flags, 'hello there')
      is(/heard \d/.test(r.stdout), (r.stdout + r.stderr).slice(-400))
    },
    { limit: 100_000 },
  )
  await check(
    `${how}: a shell call`,
    async () => {
      const r = await codex(...flags, '\n!call exec_command {"cmd": "echo hi-from-shell"}')
      is(/done: [\s\S]*hi-from-shell/.test(r.stdout), (r.stdout + r.stderr).slice(-400))
    },
    { limit: 100_000 },
  )
  await check(
    `${how}: the session resumed`,
    async () => {
      const r = await codex('resume', '--last', ...flags, 'and again')
      is(/heard 5/.test(r.stdout), (r.stdout + r.stderr).slice(-400))
    },
    { limit: 100_000 },
  )
}
console.log(`left out by the proxy: ${[...left].join(', ')}`)
rmSync(home, { recursive: true, force: true })
await finish('codex-cli', () => proxy.close(), served.stop, model.close)
