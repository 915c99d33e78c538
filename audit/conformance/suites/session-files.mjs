/*
 * Imports real session files, and compares the result with that of an independent reader. --fixtures names a folder
 * with one folder for each repository that has such files.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { finish, record } from '../lib/checks.mjs'
import { argument, checkout, python as programs, run } from '../lib/options.mjs'
import { program } from '../lib/program.mjs'

const fixtures = resolve(argument('fixtures') ?? ''),
  report = []
const python = process.env.PYTHON ?? 'python3',
  reader = join(programs, 'session-files.py')
const files = (dir) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath ?? e.path, e.name))
const page = async (base, path) => {
  const all = []
  for (let after = ''; ;) {
    const r = await (
      await fetch(
        `${base}${path}${path.includes('?') ? '&' : '?'}limit=${path.includes('messages') ? 200 : 100}${after && `&after=${encodeURIComponent(after)}`}`,
      )
    ).json()
    all.push(...r.data)
    if (!r.has_more) return all
    after = r.next
  }
}
for (const repo of readdirSync(fixtures).filter((d) => statSync(join(fixtures, d)).isDirectory())) {
  const root = join(fixtures, repo)
  const kinds = (await run(python, [reader, 'classify', root])).stdout
    .trim()
    .split('\n')
    .map((l) => l.split('\t'))
  for (const kind of ['claude-code', 'codex']) {
    const mine = kinds.filter(([k]) => k === kind).map(([, p]) => p)
    if (!mine.length) continue
    const work = mkdtempSync(join(tmpdir(), 'session-files-'))
    const others = new Set(kinds.filter(([k]) => k !== kind).map(([, p]) => p))
    // Copies all other files too, such as meta files and stored outputs.
    for (const file of files(root)) {
      const p = file.slice(root.length + 1)
      if (others.has(p) && kinds.find(([, q]) => q === p)[0] !== 'empty') continue
      mkdirSync(dirname(join(work, p)), { recursive: true })
      cpSync(file, join(work, p))
      utimesSync(join(work, p), new Date(Date.now() - 3 * 86_400_000), new Date(Date.now() - 3 * 86_400_000))
    }
    const served = await program({})
    try {
      const importer = (...words) =>
        run('npm', ['run', '--silent', 'import', '--', kind, work, '--url', served.base, ...words], {
          cwd: checkout,
          limit: 240_000,
        })
      const dry = await importer('--dry-run'),
        first = await importer(),
        second = await importer()
      const sessions = await page(served.base, '/v1/sessions'),
        messages = []
      for (const { id } of sessions)
        messages.push(...(await page(served.base, `/v1/sessions/${id}/messages?order=asc`)))
      const compared = JSON.parse(
        (await run(python, [reader, 'compare', kind, work], { input: JSON.stringify(messages), limit: 240_000 }))
          .stdout,
      )
      const damaged = first.stderr
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((l) => l.replaceAll(work, ''))
      // A missing line is not a silent loss if the importer reported this line as damaged.
      const named = new Set(damaged.map((l) => /^\/?(.*?:\d+): /.exec(l)?.[1]).filter(Boolean))
      const reported = compared.missing.filter(([, path, line]) => named.has(`${path}:${line}`))
      compared.missing = compared.missing.filter((m) => !reported.includes(m))
      report.push({
        repo,
        kind,
        files: mine.length,
        exit: [dry.code, first.code, second.code],
        dry: dry.stdout.trim().slice(-600),
        said: first.stdout.trim().slice(-600),
        again: second.stdout.trim().slice(-400),
        sessions: sessions.map((s) => ({ id: s.id, title: s.title, metadata: s.metadata })),
        damaged,
        ...compared,
      })
      record(
        `${repo} ${kind}: ${compared.total.files} files, ${JSON.stringify(compared.total)} -> ${JSON.stringify(compared.imported)}`,
        first.code === 0 && compared.missing.length === 0,
        `exit ${first.code}, ${sessions.length} sessions, reported ${damaged.length}, silently missing ${compared.missing.length}: ${JSON.stringify(compared.missing.slice(0, 3))}, calls twice ${Object.keys(compared['calls twice']).length}`,
      )
      const before = messages.length,
        after = (
          await Promise.all(
            (await page(served.base, '/v1/sessions')).map((s) => page(served.base, `/v1/sessions/${s.id}/messages`)),
          )
        ).flat().length
      record(
        `${repo} ${kind}: a second run adds nothing`,
        after === before,
        `${before} -> ${after}; ${second.stdout.trim().split('\n').at(-1)}`,
      )
    } catch (error) {
      record(`${repo} ${kind}`, false, error.stack)
    } finally {
      await served.stop()
      rmSync(work, { recursive: true, force: true })
    }
  }
  const left = kinds.filter(([k]) => !['claude-code', 'codex', 'empty'].includes(k)).length
  if (left) console.log(`  ${repo}: ${left} .jsonl files of other agents, which no kind reads`)
}
if (argument('out')) writeFileSync(argument('out'), JSON.stringify(report, null, 1))
await finish('session-files')
