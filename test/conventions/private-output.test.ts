/* Evidence, access: Exported files are private. All text for terminals is written by one function. */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const FILES = globSync('functions/**/*.ts', { cwd: ROOT }).filter((file) => !file.startsWith('functions/client/'))

interface Rule {
  readonly breaks: RegExp
  readonly allowed?: RegExp
}

/** Forbidden calls: they create a file or a folder without a private mode. */
const MAKES_FILES: Rule = {
  breaks:
    /\b(?:createWriteStream|writeFile(?:Sync)?|appendFile(?:Sync)?|mkdir(?:Sync)?)\((?![^\n]*mode: 0o[67]00)[^\n]*|\bopen(?:Sync)?\([^()\n]*'[wa][^\n]*/g,
  // Allowed: a write to the handle of a private file, and `open` with a private mode as its last argument.
  allowed: /^(?:writeFile\(chunk\)|open(?:Sync)?\([^()]*, '[wa]x?\+?', 0o600\))/,
}
const WRITES_TO_TERMINALS: Rule = { breaks: /\bprocess\.(?:stdout|stderr)\.write\b|\bconsole\.\w+\(/g }

/**
 * Frames, bodies and documents that are written without `jsonText`, which replaces lone surrogates. Names and hashes are not
 * checked.
 */
const WRITES_JSON: Rule = {
  breaks:
    /(?:data: \$\{|new Response\(|Buffer\.from\(|\bbody: |body = |const text = |const line = .*)JSON\.stringify\([^\n]*/g,
  // Allowed: stored data, and constants.
  allowed: /^(?:Buffer\.from\(JSON\.stringify\(declared\)|body = JSON\.stringify\(\{ type: 'url_verification')/,
}
const WIRES = /^functions\/(?:http|channels|mcp|adapters\/mcp)\//

const offences = ({ breaks, allowed }: Rule, text: string): string[] =>
  [...text.matchAll(breaks)].map(([found]) => found).filter((found) => allowed?.test(found) !== true)

const inTree = (rule: Rule): string[] =>
  FILES.flatMap((file) => offences(rule, readFileSync(join(ROOT, file), 'utf8')).map((found) => `${file}: ${found}`))

describe('files that the program creates', () => {
  test('are readable by their owner only', () => expect(inTree(MAKES_FILES)).toEqual([]))

  test.each([
    'createWriteStream(part)',
    "await writeFile(path, 'text')",
    'mkdirSync(folder, { recursive: true })',
    "open(path, 'wx')",
    "openSync(path, 'a', 0o644)",
  ])('are detected if they are not private: %s', (text) => expect(offences(MAKES_FILES, text)).toHaveLength(1))
})

describe('texts for a terminal', () => {
  test('are written by one function', () => expect(inTree(WRITES_TO_TERMINALS)).toEqual([]))

  test.each(['process.stdout.write(text)', 'process.stderr.write(`x`)', "console.log('x')"])(
    'are reported if another function writes them: %s',
    (text) => expect(offences(WRITES_TO_TERMINALS, text)).toHaveLength(1),
  )
})

describe('JSON for other programs', () => {
  test('is written by one function', () => expect(inTree(WRITES_JSON).filter((found) => WIRES.test(found))).toEqual([]))

  test.each([
    '`data: ${JSON.stringify(value)}\\n\\n`',
    'new Response(JSON.stringify(document))',
    'body: JSON.stringify(args)',
  ])('is reported if another function writes it: %s', (text) => expect(offences(WRITES_JSON, text)).toHaveLength(1))
})
