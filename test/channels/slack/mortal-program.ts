import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { NO_CAPS } from '../../../functions/access/rates.ts'
import { DEFAULT_SLACK } from '../../../functions/channels/slack/settings.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import type { Models } from '../../../functions/ports/model.ts'
import type { Tool } from '../../../functions/ports/tool.ts'
import { openSlack } from '../../../functions/runtime/open-slack.ts'
import { openLocalPorts } from '../../../functions/runtime/local/ports.ts'
import { createProgram } from '../../../functions/runtime/program.ts'
import type { Ports } from '../../../functions/runtime/program.ts'
import { SIGNING_SECRET, signedHeaders } from '../../slack-server/slack-events.ts'
import { BOT_TOKEN } from '../../slack-server/slack-server.ts'
import type { SlackServer } from '../../slack-server/slack-server.ts'

export interface MortalProgram {
  readonly ports: Ports
  deliver(payload: object): Promise<Response>
  /** Stops all effects and responses of the program, as if its process had been killed. */
  die(): void
  close(): Promise<void>
}

const SECRETS: Readonly<Record<string, string>> = { SLACK_BOT_TOKEN: BOT_TOKEN, SLACK_SIGNING_SECRET: SIGNING_SECRET }

/** Opens the program on SQLite in a shared folder. Its clock is `ahead` milliseconds ahead of real time. */
export function openMortalProgram(options: {
  readonly folder: string
  readonly slack: SlackServer
  readonly models: Models
  readonly tools?: readonly Tool[]
  readonly ahead?: number
}): MortalProgram {
  const { folder, slack, ahead = 0 } = options
  const system = createSystemClock()
  const clock = { ...system, now: () => system.now() + ahead }
  const opened = openLocalPorts({ dataFolder: folder, logLevel: 'silent', modelSettings: {} }, clock)
  const life = { isOver: false }
  const ports = mortal({ ...opened, models: options.models }, life)
  const tools = new Map((options.tools ?? []).map((tool) => [tool.name, tool]))
  const agent = { name: 'default', model: 'script/ed', modelOptions: {}, instructions: '', tools: [...tools.keys()] }
  const agents = new Map([['default', { ...agent, policies: DEFAULT_POLICIES }]])
  const opening = openSlack(
    {
      settings: DEFAULT_SLACK,
      apiUrl: slack.apiUrl,
      allowedHosts: [slack.host],
      streamSeconds: 240,
      agents,
      caps: NO_CAPS,
      here: true,
      secrets: async () => (name) => SECRETS[name],
    },
    ports,
  )
  const program = createProgram(ports, {
    agents,
    tools,
    channels: opening.channels,
    endpoints: (service) => [opening.endpoint(service)],
    app: { version: '0', openAccess: true, corsOrigins: [], caps: NO_CAPS },
    sweepMs: 100,
  })
  program.start()
  return {
    ports,
    async deliver(payload) {
      const body = JSON.stringify(payload)
      const headers = signedHeaders(body, { at: clock.now() })
      return program.app.request('http://any.example/slack/events', { method: 'POST', body, headers })
    },
    die: () => void (life.isOver = true),
    async close() {
      if (!life.isOver) await program.stop()
      await opened.close()
    },
  }
}

/** Wraps ports so that no call starts or returns after the program's death. */
function mortal<Of extends object>(ports: Of, life: { readonly isOver: boolean }): Of {
  const never = new Promise<never>(() => undefined)
  const wrapped = Object.entries(ports).map(([name, port]: [string, unknown]): [string, unknown] => {
    if (typeof port !== 'object' || port === null) return [name, port]
    const calls = Object.entries(port).map(([call, does]: [string, unknown]): [string, unknown] => {
      if (typeof does !== 'function' || call === 'now') return [call, does]
      return [
        call,
        (...args: unknown[]) => {
          if (life.isOver) return never
          const result: unknown = (does as (...all: unknown[]) => unknown)(...args)
          return result instanceof Promise ? result.then(...last(life, never)) : result
        },
      ]
    })
    return [name, Object.fromEntries(calls)]
  })
  return Object.fromEntries(wrapped) as Of
}

const last = (life: { readonly isOver: boolean }, never: Promise<never>) =>
  [
    (value: unknown): unknown => (life.isOver ? never : value),
    (error: unknown): unknown => {
      if (life.isOver) return never
      throw error
    },
  ] as const
