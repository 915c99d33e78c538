import { afterEach, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { exportLines } from '../../../e2e/backend/exported.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const MESSAGES = [
  { role: 'user', content: 'Which ffmpeg command was it?' },
  {
    role: 'assistant',
    content: 'I look.',
    model: 'claude-sonnet-5-5',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'shell', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'c', content: 'ffmpeg -i a.mov b.mp4' },
]

test.each([
  [{ source: 'claude-code' }, 'claude-code'],
  [{}, 'default'],
  [{ source: 7 }, 'default'],
  [{ source: 'x'.repeat(129) }, 'default'],
])('completions and calls of an import with the metadata %j belong to the agent %s', async (metadata, agent) => {
  harness = await openHttpHarness()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's', metadata })
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/import', { format: 'openai', messages: MESSAGES })
  const log = await exportLines(async (path) => harness.send('GET', path), 's')
  expect(log.map((message) => [message.role, message['agent']])).toEqual([
    ['user', 'default'],
    ['assistant', agent],
    ['tool', agent],
  ])
})
