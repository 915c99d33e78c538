/* Evidence, replay: Numbers keep their spelling in every wire format, and in lists, exports, copies, chats and search. */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const PARSERS = /\bJSON\.parse\(|\.json\(\)/u

/** Files and folders that may round numbers when they parse JSON. Each entry has a reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'functions/log/json/': 'the lossless reader itself, and single strings of a text',
  'functions/log/call-text.ts': 'single strings of a text, whose numbers it copies',
  'functions/adapters/sqlite/':
    'rows of this program; test/contracts/exact-values.ts covers rows with values from outside',
  'functions/adapters/dynamodb/':
    'items of this program; test/contracts/exact-values.ts covers items with values from outside',
  'functions/adapters/disk/object-file.ts': 'the header that this program wrote',
  'functions/adapters/s3/': 'failed batches of the stream: ids and keys alone',
  'functions/adapters/sqs/': 'hints of this program: ids alone',
  'functions/adapters/opensearch/client.ts': 'responses of the search: documents have texts, ids and scores',
  'functions/adapters/mcp/open-client.ts': 'the method and the id of a request of this program',
  'functions/channels/slack/': 'fields of Slack that are used are strings and flags: its ids and times are strings',
  'functions/channels/webhooks/endpoint.ts': 'ids that this program remembered',
  'functions/cli/commands/': "responses of this program's API that are shown, not stored",
  'functions/client/': 'the client imports nothing, and gives its users numbers of JavaScript',
  'functions/mcp/lenient-request.ts': "arguments of this program's own tools, which compute with them",
  'functions/runtime/': 'health, limits and secrets of the operator',
  'functions/tools/define-tool.ts': 'a copy of a schema of this program',
}

const parsing = globSync('functions/**/*.ts', { cwd: ROOT })
  .filter((path) => PARSERS.test(readFileSync(join(ROOT, path), 'utf8')))
  .toSorted()

test('bytes from outside are parsed by readJson, which preserves the format of numbers', () => {
  const bare = parsing.filter((path) => Object.keys(EXCEPTIONS).every((exception) => !path.startsWith(exception)))
  expect(bare, 'use readJson of functions/log/json/exact-json.ts, or name the file with a reason').toEqual([])
})

test('each exception is needed', () => {
  const unused = Object.keys(EXCEPTIONS).filter((exception) => parsing.every((path) => !path.startsWith(exception)))
  expect(unused).toEqual([])
})
