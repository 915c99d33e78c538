/* Evidence, durability: A deletion completes only when search finds none of the session's documents. */
import { expect, test } from 'vitest'
import { withEngines } from '../../engines/with-engines.ts'
import { until } from '../../eventually.ts'
import { awsBackend } from '../backend/aws-backend.ts'
import { onceFound } from '../backend/backend.ts'
import type { SearchHit } from '../backend/client.ts'
import { startProgram } from '../backend/program.ts'

const INPUTS = 20

withEngines(['dynamodb', 'opensearch', 's3', 'sqs'], (endpoints) => {
  // A search omits deleted sessions, so this test reads the index itself.
  test('a completed deletion leaves no message text in any row or document', async () => {
    const backend = awsBackend(endpoints)
    const { env, texts, remove } = await backend.open()
    const { client, kill } = await startProgram({ env })
    const stored = async (): Promise<string[]> =>
      (await Array.fromAsync(texts())).filter((text) => text.includes('tamarind'))
    try {
      await client.post('/v1/sessions', { id: 's' })
      for (let place = 0; place < INPUTS; place++)
        await client.post('/v1/sessions/s/messages', { content: `jar ${place} of tamarind` })
      await onceFound(backend, async () => {
        const { data } = await client.get<{ data: SearchHit[] }>(`/v1/search?q=tamarind+${INPUTS - 1}`)
        expect(data[0]?.snippet).toContain(String(INPUTS - 1))
      })
      expect((await client.send('DELETE', '/v1/sessions/s')).status).toBeLessThan(300)
      await until(async () => (await client.get<{ status: string }>('/v1/deletions/s')).status === 'completed')
      expect(await stored()).toStrictEqual([])
    } finally {
      await kill()
      await remove()
    }
  })
})
