import { afterEach, describe, expect, test } from 'vitest'
import { expectJson, openStage } from './stage.ts'
import type { Stage } from './stage.ts'

interface Message {
  readonly id: string
  readonly role: string
  readonly parts: readonly { readonly type: string; readonly text?: string; readonly url?: string }[]
  readonly [field: string]: unknown
}

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let stage: Stage
afterEach(() => stage.close())

async function open(...options: Parameters<typeof openStage>): Promise<void> {
  stage = await openStage(...options)
  await expectJson(stage, 201, 'POST', '/v1/sessions', { id: 's' })
}

describe('images and files', () => {
  test('are stored under their sniffed type, shown without a note, and downloaded as attachments', async () => {
    await open({ script: [{ text: 'A dot.' }] })
    const run = await expectJson(stage, 200, 'POST', '/v1/sessions/s/messages', {
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'file', media_type: 'application/octet-stream', filename: 'dot "1" é.png', data: PNG },
      ],
    })
    const [message] = run['messages'] as Message[]
    expect(message?.parts).toMatchObject([
      { type: 'text' },
      { type: 'image', media_type: 'image/png', filename: 'dot "1" é.png', bytes: 70 },
    ])
    expect(JSON.stringify(message)).not.toContain('system_note')
    const response = await stage.send('GET', message?.parts[1]?.url ?? '')
    expect(response.status).toBe(200)
    expect(Buffer.from(await response.arrayBuffer()).toString('base64')).toBe(PNG)
    expect(response.headers.get('content-type')).toBe('image/png')
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="dot _1_ _.png"; filename*=UTF-8''dot%20%221%22%20%C3%A9.png`,
    )
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
  })
})
