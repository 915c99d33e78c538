import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readSettings } from '../../functions/runtime/settings/config.ts'
import { startLocal } from '../../functions/runtime/local/start.ts'
import type { LocalServer } from '../../functions/runtime/local/start.ts'

describe('a request that the HTTP layer cannot read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-unreadable-'))
  let server: LocalServer
  beforeAll(async () => {
    server = await startLocal(readSettings({ PORT: '0', TOOLTRAIL_DATA: folder, LOG_LEVEL: 'silent' }))
  })
  afterAll(async () => {
    await server.close()
    rmSync(folder, { recursive: true })
  })

  async function responseTo(head: string): Promise<string> {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.end(`${head}\r\nConnection: close\r\n\r\n`)
    let response = ''
    socket.setEncoding('utf8').on('data', (piece: string) => (response += piece))
    await once(socket, 'close')
    return response
  }

  test.each([
    ['a backslash in the path', 'GET /v1\\sessions HTTP/1.1\r\nHost: 127.0.0.1'],
    ['a host with a space', 'GET /healthz HTTP/1.1\r\nHost: a b'],
    ['a host with a path', 'GET /healthz HTTP/1.1\r\nHost: a/b'],
    ['an address of another scheme', 'GET ftp://127.0.0.1/healthz HTTP/1.1\r\nHost: 127.0.0.1'],
  ])('%s gets 400 as a problem document', async (_name, head) => {
    const response = await responseTo(head)
    expect(response).toMatch(/^HTTP\/1\.1 400 /)
    expect(response).toMatch(/^content-type: application\/problem\+json\r$/im)
    expect(JSON.parse(response.slice(response.indexOf('\r\n\r\n')))).toMatchObject({
      status: 400,
      type: 'urn:tooltrail:problem:malformed_request',
      detail: expect.stringContaining('cannot be read'),
      request_id: expect.any(String),
    })
  })
})
