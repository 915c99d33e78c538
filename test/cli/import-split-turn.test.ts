import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importFiles } from '../../functions/cli/import/import-files.ts'
import { comparable, exportLines, parentPlaces } from '../e2e/exported.ts'
import { startInProcess, testAgent } from '../e2e/in-process.ts'
import { localBackend } from '../e2e/local-backend.ts'

const said = (text: string): object => ({ parts: [{ type: 'text', text }] })
const CALL = { id: 'call_0', name: 'delegate_task_to_member', arguments: '{}' }
const MEMBER = { agent: 'member', parent_tool_call_id: 'call_0', parent_message_id: 'row2' }
const TURN = [
  { role: 'user', ...said('go') },
  { role: 'assistant', parts: [], tool_calls: [CALL] },
  { id: 'row2', role: 'tool', tool_call_id: 'call_0', ...said('result') },
  { role: 'user', ...said('the task'), ...MEMBER },
  { role: 'assistant', ...said('done'), ...MEMBER },
  { role: 'assistant', ...said('all done') },
]

test('an export that goes on with members of an earlier turn is taken where it had ended, and they keep whose work they do', async () => {
  const program = await startInProcess({
    ...{ backend: localBackend, agents: [testAgent({ name: 'default', model: 'openai-compatible/any' })] },
    modelBaseUrl: 'http://127.0.0.1:9',
  })
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-split-'))
  try {
    const log = (session: string) => exportLines(async (path) => fetch(program.client.url + path), session)
    const bring = (more: object) => program.client.post('/v1/sessions/origin/import', { format: 'native', ...more })
    const take = async () => {
      const exported = await (await fetch(`${program.client.url}/v1/sessions/origin/export`)).text()
      writeFileSync(join(folder, 'origin.jsonl'), exported)
      const order = { kind: 'native', places: [folder], dryRun: false, target: program.client } as const
      const terminal = { fault: (line: string) => expect.unreachable(line), progress: undefined, now: () => Date.now() }
      const { messages } = await importFiles({ ...order, folders: { claude: undefined, codex: undefined } }, terminal)
      expect((await log('native-origin')).map(comparable)).toEqual((await log('origin')).map(comparable))
      expect(parentPlaces(await log('native-origin'))).toEqual(parentPlaces(await log('origin')))
      return messages
    }
    await program.client.post('/v1/sessions', { id: 'origin' })
    await bring({ source: 's', from: 0, messages: TURN.slice(0, 3) })
    await bring({ messages: [{ role: 'user', ...said('meanwhile') }] })
    expect(await take()).toBe(4)
    await bring({ source: 's', from: 0, messages: TURN })
    expect(await take()).toBe(3)
    expect(parentPlaces(await log('native-origin'))).toEqual([-1, -1, -1, -1, 2, 2, -1])
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await program.close()
  }
})
