import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { argument, nodeOf } from './options.mjs'

/** Folder of the installed packages. Later runs use this folder again. */
const cache = resolve(argument('cache', join(tmpdir(), 'tooltrail-conformance')))
/** Versions of the packages that a suite used. */
export const usedPackages = {}

/** Installs npm packages by name. Returns their folder. */
export function npmPackages(name, packages) {
  const dir = join(cache, 'npm', name),
    mark = join(dir, 'installed.json'),
    want = JSON.stringify(packages)
  if (existsSync(mark) && readFileSync(mark, 'utf8') === want) return dir
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  const { status, stderr } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', ...packages],
    { cwd: dir, encoding: 'utf8', env: { ...process.env, PATH: `${dirname(nodeOf)}:${process.env.PATH}` } },
  ) // npm installs the newest versions that support the checkout's Node
  if (status !== 0) throw new Error(`npm install of ${packages.join(' ')}: ${stderr}`)
  writeFileSync(mark, want)
  return dir
}
/** Installs Python packages with uv, which resolves large sets faster than pip. Returns the path of their Python. */
export function pipPackages(name, packages, python3 = process.env.PYTHON ?? 'python3') {
  const dir = join(cache, 'py', name),
    mark = join(dir, 'installed.json'),
    want = JSON.stringify(packages)
  const python = join(dir, 'bin/python'),
    tools = join(cache, 'py', 'uv-tool'),
    uv = join(tools, 'bin/uv')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === want) return python
  mkdirSync(dirname(dir), { recursive: true })
  rmSync(dir, { recursive: true, force: true })
  const env = {
    ...process.env,
    UV_PYTHON_DOWNLOADS: 'never',
    UV_CACHE_DIR: join(cache, 'uv'),
    SSL_CERT_FILE: process.env.SSL_CERT_FILE ?? process.env.PIP_CERT ?? '',
  }
  if (!env.SSL_CERT_FILE) delete env.SSL_CERT_FILE
  const must = (command, parts) => {
    const { status, stderr } = spawnSync(command, parts, { encoding: 'utf8', env })
    if (status !== 0) throw new Error(`${command} ${parts.join(' ')}: ${stderr}`)
  }
  if (!existsSync(uv)) {
    must(python3, ['-m', 'venv', tools])
    must(join(tools, 'bin/python'), ['-m', 'pip', 'install', '-q', 'uv'])
  }
  must(uv, ['venv', '-q', '--python', python3, dir])
  must(uv, ['pip', 'install', '-q', '--python', python, ...packages])
  writeFileSync(mark, want)
  return python
}
/** Records the versions of installed Python packages. Returns them as text. */
export function pipVersions(python, packages) {
  const program = 'import importlib.metadata as m, sys\nfor p in sys.argv[1:]: print(p, m.version(p))'
  const { stdout } = spawnSync(python, ['-c', program, ...packages], { encoding: 'utf8' })
  const lines = stdout.trim().split('\n')
  for (const line of lines) usedPackages[`${line.split(' ')[0]} (Python)`] = line.split(' ')[1]
  return lines.join(', ')
}

/** Records the versions of installed npm packages. Returns them as text. */
export function npmVersions(dir, packages) {
  const lines = packages.map((name) => {
    const { version } = JSON.parse(readFileSync(join(dir, 'node_modules', name, 'package.json'), 'utf8'))
    const key =
      usedPackages[name] === undefined || usedPackages[name] === version ? name : `${name} (${dir.split('-').at(-1)})`
    usedPackages[key] = version
    return `${name} ${version}`
  })
  return lines.join(', ')
}
